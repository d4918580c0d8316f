# What `cmake --install` puts where, and the Debian package. The program finds the catalogue by its own place, so a prefix may
# be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The headers that orrery.h includes, directly or not, and no others.
set(ORRERY_HEADERS orrery/orrery.h)
set(open ${ORRERY_HEADERS})
while(open)
  list(POP_FRONT open header)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/${header})
  file(STRINGS src/${header} lines REGEX "^#include \"orrery/")
  foreach(line ${lines})
    string(REGEX REPLACE "^#include \"([^\"]*)\".*" "\\1" included "${line}")
    if(NOT included IN_LIST ORRERY_HEADERS)
      list(APPEND ORRERY_HEADERS ${included})
      list(APPEND open ${included})
    endif()
  endforeach()
endwhile()

install(TARGETS orrery RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS orrery_archive EXPORT orrery ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(header ${ORRERY_HEADERS})
  cmake_path(GET header PARENT_PATH folder)
  install(FILES src/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
endforeach()
install(DIRECTORY catalog/ DESTINATION share/orrery/catalog)
# Vega's library, which pages hold (`orrery report`), as Debian's libjs-vega has it. Without it pages have still pictures.
find_path(ORRERY_VEGA vega-view.min.js PATHS /usr/share/javascript/vega NO_DEFAULT_PATH)
if(ORRERY_VEGA)
  install(DIRECTORY ${ORRERY_VEGA}/ DESTINATION share/orrery/vega FILES_MATCHING PATTERN "vega-*.min.js")
  install(FILES /usr/share/doc/libjs-vega/copyright DESTINATION share/doc/orrery RENAME copyright.libjs-vega OPTIONAL)
endif()

# The documents with all that they link to, and the licences of what the program holds (cmake/dependencies.cmake).
install(FILES README.md ARCHITECTURE.md HACKING.md LICENSE DESTINATION share/doc/orrery)
install(FILES bench/mappers.md DESTINATION share/doc/orrery/bench)
install(DIRECTORY docs examples DESTINATION share/doc/orrery)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share)
file(CREATE_LINK ../../orrery/catalog ${PROJECT_BINARY_DIR}/share/catalog SYMBOLIC)
install(FILES ${PROJECT_BINARY_DIR}/share/catalog DESTINATION share/doc/orrery)
install(FILES LICENSE DESTINATION share/doc/orrery RENAME copyright) # where Debian looks for it
foreach(package coinor-libcbc coinor-libclp coinor-libcoinutils coinor-libcgl coinor-libosi libprotobuf libyaml-cpp libconfig++ libxxhash
                libbz2 libhdf5 libaec zlib1g libminizip libutf8proc libsqlite3)
  install(FILES /usr/share/doc/${package}-dev/copyright DESTINATION share/doc/orrery RENAME copyright.${package} OPTIONAL)
endforeach()

# find_package(orrery)
set(config ${CMAKE_INSTALL_LIBDIR}/cmake/orrery)
configure_package_config_file(cmake/orreryConfig.cmake.in orreryConfig.cmake INSTALL_DESTINATION ${config})
write_basic_package_version_file(orreryConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/orreryConfig.cmake ${PROJECT_BINARY_DIR}/orreryConfigVersion.cmake
        DESTINATION ${config})
install(EXPORT orrery NAMESPACE orrery:: FILE orreryTargets.cmake DESTINATION ${config})

# The manual page and the shells' completions are what the program says of its own verbs.
set(texts)
foreach(text man:man1/orrery.1 bash:bash-completion/completions/orrery zsh:zsh/site-functions/_orrery
             fish:fish/vendor_completions.d/orrery.fish)
  string(REGEX MATCH "^[^:]*" kind ${text})
  string(REGEX REPLACE "^[^:]*:" "" file ${text})
  cmake_path(GET file PARENT_PATH folder)
  set(written ${PROJECT_BINARY_DIR}/share/${file})
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share/${folder})
  add_custom_command(OUTPUT ${written} COMMAND orrery write-for ${kind} > ${written} DEPENDS orrery VERBATIM)
  list(APPEND texts ${written})
  if(kind STREQUAL "man")
    set(folder man/${folder})
  endif()
  install(FILES ${written} DESTINATION share/${folder})
endforeach()
add_custom_target(orrery_texts ALL DEPENDS ${texts})

# ./dev package. Its dependencies are those of the program: what the library needs besides is suggested.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON) # what is packed was built before
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME orrery)
set(CPACK_PACKAGE_CONTACT "The Orrery authors <orrery@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "models and optimises how transformers run on accelerators")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/package)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libsentencepiece0, libjs-vega") # opened when a model asks for it; of pages
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
    "cmake, g++, pkg-config, libfmt-dev, libyaml-cpp-dev, libconfig++-dev, libxxhash-dev, libprotobuf-dev, coinor-libcbc-dev, libminizip-dev, zlib1g-dev, libutf8proc-dev")
include(CPack)
