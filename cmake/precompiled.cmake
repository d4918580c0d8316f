# Precompiled headers of the standard library, fmt, GoogleTest and what every face reads: clang spends half of its time on
# reading these, g++ a quarter. Off where each source is compiled alone, with ccache, which does not cache what uses them;
# there a missing #include is found.
#
# orrery_precompiled(<target> library|faces|tests <level>): has the target use the header of that kind. Each is compiled once
# an optimiser level (g++ 12 crashes where levels differ), with the flags that the targets of that kind have.
set(ORRERY_PRECOMPILED_library
    <algorithm> <array> <cmath> <filesystem> <functional> <limits> <map> <memory> <optional> <set> <span> <sstream> <string>
    <string_view> <utility> <variant> <vector> <fmt/format.h>)
set(ORRERY_PRECOMPILED_faces ${ORRERY_PRECOMPILED_library}
    ${PROJECT_SOURCE_DIR}/src/orrery/cli/command_line.h ${PROJECT_SOURCE_DIR}/src/orrery/cli/run_verb.h)
set(ORRERY_PRECOMPILED_tests ${ORRERY_PRECOMPILED_library} <fstream> <gtest/gtest.h>)

function(orrery_precompiled target kind level)
  set(holder orrery_precompiled_${kind}_${level})
  if(NOT TARGET ${holder})
    file(WRITE ${CMAKE_BINARY_DIR}/${holder}.cc "")
    add_library(${holder} OBJECT ${CMAKE_BINARY_DIR}/${holder}.cc)
    target_link_libraries(${holder} PRIVATE fmt::fmt)
    if(kind STREQUAL "tests")
      target_link_libraries(${holder} PRIVATE GTest::gtest)
    endif()
    orrery_flags(${holder} ${kind})
    target_compile_options(${holder} PRIVATE $<$<CONFIG:Release>:-O${level}>)
    target_precompile_headers(${holder} PRIVATE ${ORRERY_PRECOMPILED_${kind}})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${holder})
endfunction()
