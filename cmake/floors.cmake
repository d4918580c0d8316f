# orrery_floor(<folder> [libraries...]): everything in src/orrery/<folder> (not below it).
#   x.cc        -> library orrery_<folder>, linked to every floor declared earlier
#   x_test.cc   -> one test program orrery_<folder>_tests, built without the optimiser's dearest passes (tests check, they
#                  do not race) unless ORRERY_FAST_TESTS is set; to ctest, a test <folder>/<Suite> for each of its
#                  suites (cmake/suites.cmake), and four for those that ORRERY_LONG_SUITES names
#   x_bench.cc  -> one benchmark program <folder>_bench (target orrery_<folder>_bench)
#   x_fuzz.cc   -> with ORRERY_FUZZERS one fuzzer x_fuzz; with ORRERY_TESTS one test fuzz/x that feeds it
#                  every file of examples/, catalog/, tests/errors/ and tests/fuzz_corpus/ once
# The suffix alone decides a file's role; adding a file needs no change here.
#
# With ORRERY_PRECOMPILED the sources of all floors share a precompiled header (cmake/precompiled.cmake). With ORRERY_SYNTAX_ONLY
# tests and benchmarks are compiled as far as their syntax and never linked: what tests/clang.sh builds.

# <source_dir.h>: where the checkout is, for tests that read its files. A header, so that the path is in no command and
# ccache knows a source that does not ask for it in whichever folder it lies.
set(ORRERY_SOURCE_DIR_HEADER ${CMAKE_BINARY_DIR}/source_dir)
file(CONFIGURE OUTPUT ${ORRERY_SOURCE_DIR_HEADER}/source_dir.h
     CONTENT "#pragma once\n#define ORRERY_SOURCE_DIR \"@CMAKE_SOURCE_DIR@\"\n" @ONLY)
set(ORRERY_FLOORS "" CACHE INTERNAL "")
find_program(ORRERY_CLANG clang++-14)
if(ORRERY_FUZZERS)
  add_custom_target(fuzzers)
endif()
if(ORRERY_PRECOMPILED)
  include(cmake/precompiled.cmake)
endif()

# orrery_flags(<target> library|tests): how the targets of that kind are compiled.
function(orrery_flags target kind)
  if(kind STREQUAL "tests")
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  elseif(NOT ORRERY_FUZZERS AND NOT DEFINED CMAKE_POSITION_INDEPENDENT_CODE)
    # For users' shared libraries, too; functions are inlined as if there were none.
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  endif()
endfunction()

# orrery_syntax_only(<target> <sources>...): checks the sources; nothing is linked or run.
function(orrery_syntax_only target)
  add_library(${target} OBJECT ${ARGN})
  set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER ${CMAKE_SOURCE_DIR}/cmake/syntax_only.sh)
  target_include_directories(${target} PRIVATE ${ORRERY_SOURCE_DIR_HEADER})
  orrery_precompiled(${target} tests)
endfunction()

function(orrery_floor folder)
  string(REPLACE "/" "_" name ${folder})
  set(directory ${PROJECT_SOURCE_DIR}/src/orrery/${folder})
  file(GLOB sources CONFIGURE_DEPENDS ${directory}/*.cc)
  set(tests ${sources})
  set(benchmarks ${sources})
  set(fuzzers ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|_fuzz|/main)\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER benchmarks INCLUDE REGEX "_bench\\.cc$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")

  if(sources)
    set(scope PUBLIC)
    add_library(orrery_${name} STATIC ${sources})
    orrery_flags(orrery_${name} library)
    if(ORRERY_PRECOMPILED)
      orrery_precompiled(orrery_${name} library)
    endif()
  else()
    set(scope INTERFACE)
    add_library(orrery_${name} INTERFACE)
  endif()
  target_link_libraries(orrery_${name} ${scope} ${ORRERY_FLOORS} ${ARGN})
  set(ORRERY_FLOORS orrery_${name} ${ORRERY_FLOORS} CACHE INTERNAL "")

  if(ORRERY_SYNTAX_ONLY)
    if(tests)
      orrery_syntax_only(orrery_${name}_tests ${tests})
      target_link_libraries(orrery_${name}_tests PRIVATE orrery_${name} GTest::gtest)
      target_include_directories(orrery_${name}_tests SYSTEM PRIVATE ${RAPIDCHECK_INCLUDE})
    endif()
    if(benchmarks)
      orrery_syntax_only(orrery_${name}_bench ${benchmarks})
      target_link_libraries(orrery_${name}_bench PRIVATE orrery_${name} GTest::gtest benchmark::benchmark)
    endif()
  endif()
  if(ORRERY_TESTS AND tests AND NOT ORRERY_SYNTAX_ONLY)
    add_executable(orrery_${name}_tests ${tests})
    if(NOT ORRERY_FAST_TESTS)
      orrery_flags(orrery_${name}_tests tests)
      if(ORRERY_PRECOMPILED)
        orrery_precompiled(orrery_${name}_tests tests)
      endif()
    endif()
    target_link_libraries(orrery_${name}_tests PRIVATE orrery_${name} GTest::gtest_main ${RAPIDCHECK_LIBRARY})
    target_include_directories(orrery_${name}_tests SYSTEM PRIVATE ${RAPIDCHECK_INCLUDE})
    target_include_directories(orrery_${name}_tests PRIVATE ${ORRERY_SOURCE_DIR_HEADER})
    set(timeout 900)
    if(ORRERY_SANITIZE)
      set(timeout 3600)
    endif()
    # rapidcheck draws another seed each time unless told; a test that fails must fail again.
    set(environment "RC_PARAMS=seed=20240229" "ORRERY_SANITIZE=${ORRERY_SANITIZE}")
    set(suites ${CMAKE_CURRENT_BINARY_DIR}/suites/${name}.cmake)
    file(WRITE ${suites}
         "include(${CMAKE_SOURCE_DIR}/cmake/suites.cmake)\n"
         "orrery_suites(${folder} ${CMAKE_CURRENT_BINARY_DIR}/orrery_${name}_tests ${timeout}\n"
         "              \"${environment}\" \"${ORRERY_LONG_SUITES}\")\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${suites})
  endif()
  if(ORRERY_BENCHMARKS AND benchmarks AND NOT ORRERY_SYNTAX_ONLY)
    add_executable(orrery_${name}_bench ${benchmarks})
    target_link_libraries(orrery_${name}_bench PRIVATE orrery_${name} benchmark::benchmark benchmark::benchmark_main)
    set_target_properties(orrery_${name}_bench PROPERTIES OUTPUT_NAME ${name}_bench)
    target_include_directories(orrery_${name}_bench PRIVATE ${ORRERY_SOURCE_DIR_HEADER})
  endif()
  foreach(fuzzer ${fuzzers})
    get_filename_component(stem ${fuzzer} NAME_WE)
    if(ORRERY_FUZZERS)
      add_executable(${stem} ${fuzzer})
      target_link_libraries(${stem} PRIVATE orrery_${name})
      target_link_options(${stem} PRIVATE -fsanitize=fuzzer)
      target_include_directories(${stem} PRIVATE ${ORRERY_SOURCE_DIR_HEADER})
      add_dependencies(fuzzers ${stem})
    endif()
    if(ORRERY_TESTS AND NOT ORRERY_SYNTAX_ONLY)
      if(ORRERY_CLANG AND NOT ORRERY_SANITIZE)
        add_test(NAME fuzz_for_seconds/${stem} COMMAND ${CMAKE_SOURCE_DIR}/tests/fuzz/run.sh
                 ${CMAKE_BINARY_DIR}/clang/${stem} 4 ${CMAKE_BINARY_DIR}/clang)
        # Every seed is run once before the seconds count.
        set_tests_properties(fuzz_for_seconds/${stem} PROPERTIES LABELS clang TIMEOUT 600 FIXTURES_REQUIRED clang)
      endif()
      add_executable(${stem}_replay ${fuzzer} ${CMAKE_SOURCE_DIR}/tests/fuzz/replay.cc)
      target_link_libraries(${stem}_replay PRIVATE orrery_${name})
      target_include_directories(${stem}_replay PRIVATE ${ORRERY_SOURCE_DIR_HEADER})
      string(REGEX REPLACE "_fuzz$" "" harness ${stem})
      add_test(NAME fuzz/${harness} COMMAND ${stem}_replay examples catalog tests/errors tests/fuzz_corpus
               WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
      set_tests_properties(fuzz/${harness} PROPERTIES LABELS fuzz TIMEOUT 120)
      # What others write: changed at random, under any compiler.
      if(harness MATCHES "^(libconfig|render|documents)$")
        string(REGEX REPLACE "^(render|documents)$" "timeloop" seeds ${harness})
        add_test(NAME fuzz_changed/${harness} COMMAND ${stem}_replay ${CMAKE_SOURCE_DIR}/tests/fuzz_corpus/${seeds})
        set_tests_properties(fuzz_changed/${harness} PROPERTIES LABELS fuzz TIMEOUT 120 ENVIRONMENT ORRERY_FUZZ_SECONDS=3)
      endif()
    endif()
  endforeach()
endfunction()
