# orrery::orrery: the rooms up to `library` as one archive, with position-independent code; what a project links that found
# this one with find_package or took it in with add_subdirectory.
set(objects)
foreach(room ${ORRERY_LIBRARY_ROOMS})
  list(APPEND objects $<TARGET_OBJECTS:${room}>)
endforeach()
add_library(orrery_archive STATIC ${objects})
add_library(orrery::orrery ALIAS orrery_archive)
set_target_properties(orrery_archive PROPERTIES OUTPUT_NAME orrery EXPORT_NAME orrery LINKER_LANGUAGE CXX)
target_compile_features(orrery_archive PUBLIC cxx_std_20)
target_include_directories(orrery_archive INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<INSTALL_INTERFACE:include>)
if(NOT PROJECT_IS_TOP_LEVEL) # what find_package says, too
  set(ORRERY_CATALOG ${PROJECT_SOURCE_DIR}/catalog PARENT_SCOPE)
endif()
target_link_libraries(orrery_archive PUBLIC fmt::fmt Threads::Threads
                      PRIVATE PkgConfig::xxhash PkgConfig::cbc PkgConfig::minizip PkgConfig::utf8proc PkgConfig::config++ yaml-cpp protobuf::libprotobuf)
