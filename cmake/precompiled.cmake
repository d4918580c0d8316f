# Precompiled headers of the standard library, fmt and GoogleTest: clang spends half of its time on reading these, g++ a
# quarter. Off where ccache is found, which does not cache what uses them; there a missing #include is found.
#
# orrery_precompiled(<target> library|tests): has the target use the header of that kind. Both kinds are compiled once, with
# the flags that the targets of that kind have.
set(ORRERY_PRECOMPILED_library
    <algorithm> <array> <cmath> <functional> <limits> <map> <memory> <optional> <set> <span> <sstream> <string>
    <string_view> <utility> <variant> <vector> <fmt/format.h>)
set(ORRERY_PRECOMPILED_tests ${ORRERY_PRECOMPILED_library} <fstream> <gtest/gtest.h>)

function(orrery_precompiled target kind)
  set(holder orrery_precompiled_${kind})
  if(NOT TARGET ${holder})
    file(WRITE ${CMAKE_BINARY_DIR}/${holder}.cc "")
    add_library(${holder} OBJECT ${CMAKE_BINARY_DIR}/${holder}.cc)
    target_link_libraries(${holder} PRIVATE fmt::fmt)
    if(kind STREQUAL "tests")
      target_link_libraries(${holder} PRIVATE GTest::gtest)
    endif()
    orrery_flags(${holder} ${kind})
    target_precompile_headers(${holder} PRIVATE ${ORRERY_PRECOMPILED_${kind}})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${holder})
endfunction()
