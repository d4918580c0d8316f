# orrery_suites(<room> <program> <timeout> <environment> <long suites> <quick suites>): a ctest test for every GoogleTest suite of the
# program, called <room>/<Suite>. ctest runs this each time it starts, so the list is that of the program as built, and
# of the cases that ../shared gives now. A long suite becomes four tests, <room>/<Suite>/1 to 4, which share its cases
# and may run side by side.
#
# A suite of which any case skipped itself counts as skipped, if nothing failed: then GoogleTest's last lines are the list
# of the cases skipped.
cmake_policy(VERSION 3.25)

function(orrery_suites room program timeout environment long quick)
  if(NOT EXISTS ${program})
    add_test(${room} ${program}) # which ctest reports as not found
    return()
  endif()
  execute_process(COMMAND ${program} --gtest_list_tests OUTPUT_VARIABLE list RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${program} --gtest_list_tests failed: ${failed}")
  endif()
  string(REGEX REPLACE "\n  [^\n]*" "" list "\n${list}") # the cases
  string(REGEX MATCHALL "\n[A-Za-z0-9_/]+[.]" suites "${list}")
  foreach(suite ${suites})
    string(REGEX REPLACE "^\n|[.]$" "" suite ${suite})
    set(shards 1)
    if(suite IN_LIST long)
      set(shards 4)
    endif()
    foreach(shard RANGE 1 ${shards})
      set(test ${room}/${suite})
      set(sharding "")
      if(shards GREATER 1)
        math(EXPR index "${shard} - 1")
        set(test ${test}/${shard})
        set(sharding GTEST_TOTAL_SHARDS=${shards} GTEST_SHARD_INDEX=${index})
      endif()
      add_test(${test} ${program} "--gtest_filter=${suite}.*")
      set_tests_properties(
        ${test} PROPERTIES TIMEOUT ${timeout} ENVIRONMENT "${environment};${sharding}"
        SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\] [0-9]+ tests?, listed below:\n(\\[  SKIPPED \\] [^\n]*\n)+$")
      if(${room}/${suite} IN_LIST quick)
        set_tests_properties(${test} PROPERTIES LABELS quick)
      endif()
      if(suite MATCHES "^(ThisMachine|PredictedLayer|TuneRun)$") # measures times, and asks for those that others leave alone
        set_tests_properties(${test} PROPERTIES RUN_SERIAL ON)
      endif()
    endforeach()
  endforeach()
endfunction()
