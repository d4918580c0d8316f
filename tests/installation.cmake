# The installation and the package, and projects outside that use them: tests/installation.sh.
if(TARGET orrery AND ORRERY_INSTALL AND NOT ORRERY_SANITIZE)
  foreach(part program consumer examples subdirectory package)
    add_test(NAME installation/${part}
             COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/installation.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${part})
    set_tests_properties(installation/${part} PROPERTIES LABELS installation TIMEOUT 600 SKIP_RETURN_CODE 77)
  endforeach()
endif()
