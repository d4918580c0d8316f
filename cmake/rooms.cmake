# orrery_room(<name> <folder> [O3 <subfolders>...] [LINK <libraries>...]): all that stands in src/orrery/<folder>, subfolders included.
#   x.cc        -> library orrery_<name>, linked to every room declared earlier
#   x_test.cc   -> one test program orrery_<name>_tests; to ctest, a test <name>/<Suite> for each of its suites
#                  (cmake/suites.cmake), and four for those that ORRERY_LONG_SUITES names
#   x_bench.cc  -> one benchmark program <name>_bench
#   x_fuzz.cc   -> with ORRERY_FUZZERS one fuzzer x_fuzz; with ORRERY_TESTS one test fuzz/x that feeds it
#                  every file of examples/, catalog/, tests/errors/ and tests/fuzz_corpus/ once
# The suffix alone decides a file's role; adding a file needs no change here.
#
# A Release is compiled with -O3 in the subfolders after O3 ("." is all of them), where users' time is spent, and with -Og
# elsewhere, which compiles in three quarters of the time of -O1: tests check, they do not race; readers and tables take no
# time.
#
# With ORRERY_UNITY the files of a folder are compiled in batches, and so are those of a verb with its subfolders: most of
# what a file costs is the headers that it reads. So names in unnamed namespaces are unlike in all of them. The sources of
# all rooms share a precompiled header (cmake/precompiled.cmake) where ORRERY_PRECOMPILED. With ORRERY_SYNTAX_ONLY tests
# and benchmarks are compiled as far as their syntax and never linked: what tests/clang.sh builds.

# <source_dir.h>: where the checkout is, for tests that read its files. A header, so that the path is in no command and
# ccache knows a source that does not ask for it in whichever folder it lies.
set(ORRERY_SOURCE_DIR_HEADER ${CMAKE_BINARY_DIR}/source_dir)
file(CONFIGURE OUTPUT ${ORRERY_SOURCE_DIR_HEADER}/source_dir.h
     CONTENT "#pragma once\n#define ORRERY_SOURCE_DIR \"@CMAKE_SOURCE_DIR@\"\n" @ONLY)
set(ORRERY_ROOMS "" CACHE INTERNAL "")
set(ORRERY_BATCH_BYTES 140000 CACHE STRING "Sources compiled together are at most so long, in bytes; tests half of it")
find_program(ORRERY_CLANG clang++-14)
if(ORRERY_FUZZERS)
  add_custom_target(fuzzers)
endif()
if(ORRERY_PRECOMPILED)
  include(cmake/precompiled.cmake)
endif()

# orrery_flags(<target> library|faces|tests): how the targets of that kind are compiled, but for the optimiser.
function(orrery_flags target kind)
  if(NOT kind STREQUAL "tests" AND NOT ORRERY_FUZZERS AND NOT DEFINED CMAKE_POSITION_INDEPENDENT_CODE)
    # For users' shared libraries, too; functions are inlined as if there were none.
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  endif()
endfunction()

# orrery_usual_level(<variable> <level> <fast subfolders>): that of a room's own files.
function(orrery_usual_level variable slow fast)
  set(${variable} ${slow} PARENT_SCOPE)
  if("." IN_LIST fast)
    set(${variable} 3 PARENT_SCOPE)
  endif()
endfunction()

# orrery_batches(<variable> <name> <level> <fast subfolders> <sources>...): the sources as files to compile, each with its
# optimiser level, 3 in fast subfolders: themselves, or batches of one folder or verb. Sources with flags of their own
# stay alone.
function(orrery_batches variable name slow fast)
  orrery_usual_level(usual ${slow} "${fast}")
  set(all)
  set(folder "")
  set(batch "")
  set(bytes 0)
  set(count 0)
  set(most ${ORRERY_BATCH_BYTES})
  if(name MATCHES "_tests$")
    math(EXPR most "${most} / 2")
  endif()
  list(APPEND ARGN end) # writes the last batch
  foreach(source ${ARGN})
    set(next "")
    if(NOT source STREQUAL "end")
      cmake_path(GET source PARENT_PATH next)
      # a verb's subfolders are few files each
      string(REGEX REPLACE "(/src/orrery/verbs/[^/]+)/.*" "\\1" next ${next})
      file(SIZE ${source} size)
      get_source_file_property(flags ${source} COMPILE_OPTIONS)
      get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
      if(flags OR definitions)
        set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
        list(APPEND all ${source})
        continue()
      endif()
    endif()
    math(EXPR bytes "${bytes} + ${size}")
    if(batch AND (NOT next STREQUAL folder OR NOT ORRERY_UNITY OR bytes GREATER most))
      cmake_path(GET folder FILENAME stem)
      math(EXPR count "${count} + 1")
      if(ORRERY_UNITY)
        set(file ${CMAKE_BINARY_DIR}/batches/${name}/${stem}_${count}.cc)
        file(CONFIGURE OUTPUT ${file} CONTENT "${batch}" @ONLY)
      else()
        set(file ${batch})
      endif()
      list(APPEND all ${file})
      set(level ${slow})
      foreach(subfolder ${fast})
        string(FIND "${folder}/" "/${subfolder}/" found)
        if(subfolder STREQUAL "." OR NOT found EQUAL -1)
          set(level 3)
        endif()
      endforeach()
      set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O${level}>)
      if(NOT level STREQUAL usual)
        set_source_files_properties(${file} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
      endif()
      set(batch "")
      set(bytes ${size})
    endif()
    set(folder "${next}")
    if(ORRERY_UNITY)
      string(REPLACE "${PROJECT_SOURCE_DIR}/src/" "" included "${source}")
      string(APPEND batch "#include \"${included}\"\n")
    else()
      set(batch ${source})
    endif()
  endforeach()
  set(${variable} ${all} PARENT_SCOPE)
endfunction()

# orrery_syntax_only(<target> <sources>...): checks the sources; nothing is linked or run.
function(orrery_syntax_only target)
  add_library(${target} OBJECT ${ARGN})
  set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER ${CMAKE_SOURCE_DIR}/cmake/syntax_only.sh)
  target_include_directories(${target} PRIVATE ${ORRERY_SOURCE_DIR_HEADER})
  orrery_precompiled(${target} tests 1)
endfunction()

# orrery_library(<name> library|faces <fast subfolders> <libraries> <sources>...)
function(orrery_library name kind fast libraries)
  orrery_batches(batches ${name} g "${fast}" ${ARGN})
  add_library(orrery_${name} STATIC ${batches})
  orrery_flags(orrery_${name} ${kind})
  if(ORRERY_PRECOMPILED)
    orrery_usual_level(level g "${fast}")
    orrery_precompiled(orrery_${name} ${kind} ${level})
  endif()
  target_link_libraries(orrery_${name} PUBLIC ${ORRERY_ROOMS} ${libraries})
  set(ORRERY_ROOMS orrery_${name} ${ORRERY_ROOMS} CACHE INTERNAL "")
endfunction()

# orrery_fuzzer(<room> <source>)
function(orrery_fuzzer name fuzzer)
  get_filename_component(stem ${fuzzer} NAME_WE)
  if(ORRERY_FUZZERS)
    add_executable(${stem} ${fuzzer})
    target_link_libraries(${stem} PRIVATE orrery_${name})
    target_link_options(${stem} PRIVATE -fsanitize=fuzzer)
    target_include_directories(${stem} PRIVATE ${ORRERY_SOURCE_DIR_HEADER})
    add_dependencies(fuzzers ${stem})
  endif()
  if(NOT ORRERY_TESTS OR ORRERY_SYNTAX_ONLY)
    return()
  endif()
  if(ORRERY_CLANG AND NOT ORRERY_SANITIZE)
    add_test(NAME fuzz_for_seconds/${stem} COMMAND ${CMAKE_SOURCE_DIR}/tests/fuzz/run.sh
             ${CMAKE_BINARY_DIR}/clang/${stem} 4 ${CMAKE_BINARY_DIR}/clang)
    # Every seed is run once before the seconds count.
    set_tests_properties(fuzz_for_seconds/${stem} PROPERTIES LABELS clang TIMEOUT 600 FIXTURES_REQUIRED clang)
  endif()
  add_executable(${stem}_replay ${fuzzer} ${CMAKE_SOURCE_DIR}/tests/fuzz/replay.cc)
  target_link_libraries(${stem}_replay PRIVATE orrery_${name})
  target_include_directories(${stem}_replay PRIVATE ${ORRERY_SOURCE_DIR_HEADER})
  target_compile_options(${stem}_replay PRIVATE $<$<CONFIG:Release>:-O1>)
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
endfunction()

# orrery_tests(<name> <level> <fast subfolders> <sources>...)
function(orrery_tests name level fast)
  if(ORRERY_SYNTAX_ONLY)
    orrery_syntax_only(orrery_${name}_tests ${ARGN})
    target_link_libraries(orrery_${name}_tests PRIVATE orrery_${name} GTest::gtest)
    target_include_directories(orrery_${name}_tests SYSTEM PRIVATE ${RAPIDCHECK_INCLUDE})
    return()
  endif()
  orrery_batches(batches ${name}_tests ${level} "${fast}" ${ARGN})
  add_executable(orrery_${name}_tests ${batches})
  orrery_flags(orrery_${name}_tests tests)
  if(ORRERY_PRECOMPILED)
    orrery_usual_level(usual ${level} "${fast}")
    orrery_precompiled(orrery_${name}_tests tests ${usual})
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
       "orrery_suites(${name} ${CMAKE_CURRENT_BINARY_DIR}/orrery_${name}_tests ${timeout}\n"
       "              \"${environment}\" \"${ORRERY_LONG_SUITES}\" \"${ORRERY_QUICK_SUITES}\")\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${suites})
endfunction()

# orrery_sources(<folder>): the lists `sources`, `tests`, `benchmarks` and `fuzzers` of what stands there.
macro(orrery_sources folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/orrery/${folder}/*.cc)
  list(TRANSFORM sources REPLACE "/([^/]+)$" "/!\\1") # a folder's own files stand together, before its subfolders
  list(SORT sources)
  list(TRANSFORM sources REPLACE "/!([^/]+)$" "/\\1")
  set(tests ${sources})
  set(benchmarks ${sources})
  set(fuzzers ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|_fuzz|/main)\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER benchmarks INCLUDE REGEX "_bench\\.cc$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")
endmacro()

# What a verb shows and what it is told: the files of these roles. They alone include present/ and cli/.
set(ORRERY_FACES "verbs/(sweep|help|report)/.*|(/|_)(options|table|json|report|picture|trace|text|output)\\.cc$")

function(orrery_room name folder)
  cmake_parse_arguments(room "" "" "O3;LINK;FAST_TESTS" ${ARGN})
  orrery_sources(${folder})
  if(folder STREQUAL "verbs") # the library for other programs has no faces
    list(FILTER sources EXCLUDE REGEX "${ORRERY_FACES}")
  endif()
  orrery_library(${name} library "${room_O3}" "${room_LINK}" ${sources})
  if(ORRERY_TESTS AND tests AND NOT folder STREQUAL "verbs")
    set(level g)
    if(room_O3) # they compute much beside
      set(level 1)
    endif()
    orrery_tests(${name} ${level} "${room_FAST_TESTS}" ${tests})
  endif()
  if(ORRERY_BENCHMARKS AND benchmarks)
    if(ORRERY_SYNTAX_ONLY)
      orrery_syntax_only(orrery_${name}_bench ${benchmarks})
      target_link_libraries(orrery_${name}_bench PRIVATE orrery_${name} GTest::gtest benchmark::benchmark)
    else()
      add_executable(orrery_${name}_bench ${benchmarks})
      target_link_libraries(orrery_${name}_bench PRIVATE orrery_${name} benchmark::benchmark benchmark::benchmark_main)
      set_target_properties(orrery_${name}_bench PROPERTIES OUTPUT_NAME ${name}_bench)
      target_include_directories(orrery_${name}_bench PRIVATE ${ORRERY_SOURCE_DIR_HEADER})
    endif()
  endif()
  foreach(fuzzer ${fuzzers})
    orrery_fuzzer(${name} ${fuzzer})
  endforeach()
endfunction()

# The faces of the verbs, and the tests of verbs with theirs.
function(orrery_faces)
  orrery_sources(verbs)
  list(FILTER sources INCLUDE REGEX "${ORRERY_FACES}")
  orrery_library(faces faces "" "PkgConfig::sqlite3;${ORRERY_HDF5}" ${sources})
  if(ORRERY_TESTS)
    orrery_tests(faces g "" ${tests})
  endif()
endfunction()
