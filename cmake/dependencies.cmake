# What Orrery needs, all from Debian 12. `./dev` installs the packages named in each message.

function(orrery_require target package)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "CMake found no ${target}. On Debian: apt-get install ${package}")
  endif()
endfunction()

# orrery_prefer_archives(<target> <names>): links the archives of these libraries where there are any. The program starts in
# half the time where it holds the solver and the readers itself: there are a dozen fewer libraries to find and relocate. A
# project that takes this one in gets the shared ones: Debian's archives do not fit into its shared libraries.
function(orrery_prefer_archives target names)
  if(NOT PROJECT_IS_TOP_LEVEL)
    return()
  endif()
  foreach(property INTERFACE_LINK_LIBRARIES IMPORTED_LOCATION IMPORTED_LOCATION_RELEASE IMPORTED_LOCATION_NONE)
    get_target_property(libraries ${target} ${property})
    if(libraries)
      set(chosen)
      foreach(library ${libraries})
        string(REGEX REPLACE "/lib(${names})\\.so[0-9.]*$" "/lib\\1.a" archive ${library})
        if(EXISTS ${archive})
          set(library ${archive})
        endif()
        list(APPEND chosen ${library})
      endforeach()
      set_target_properties(${target} PROPERTIES ${property} "${chosen}")
    endif()
  endforeach()
endfunction()

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

find_package(fmt QUIET)
orrery_require(fmt::fmt libfmt-dev)

find_package(yaml-cpp QUIET)
orrery_require(yaml-cpp libyaml-cpp-dev)
orrery_prefer_archives(yaml-cpp yaml-cpp)

pkg_check_modules(config++ QUIET IMPORTED_TARGET GLOBAL libconfig++)
orrery_require(PkgConfig::config++ libconfig++-dev)
orrery_prefer_archives(PkgConfig::config++ "config[+][+]")

find_package(nlohmann_json QUIET)
orrery_require(nlohmann_json::nlohmann_json nlohmann-json3-dev)

find_package(CLI11 QUIET)
orrery_require(CLI11::CLI11 libcli11-dev)

find_package(Protobuf QUIET)
orrery_require(protobuf::libprotobuf libprotobuf-dev)
orrery_prefer_archives(protobuf::libprotobuf protobuf)

pkg_check_modules(cbc QUIET IMPORTED_TARGET GLOBAL cbc)
orrery_require(PkgConfig::cbc coinor-libcbc-dev)
orrery_prefer_archives(PkgConfig::cbc "Cbc|CbcSolver|Cgl|Clp|ClpSolver|CoinUtils|Osi|OsiClp|bz2|z")

pkg_check_modules(xxhash QUIET IMPORTED_TARGET GLOBAL libxxhash)
orrery_require(PkgConfig::xxhash libxxhash-dev)
orrery_prefer_archives(PkgConfig::xxhash xxhash)

pkg_check_modules(minizip QUIET IMPORTED_TARGET GLOBAL minizip zlib) # an archive does not say that it needs zlib
orrery_require(PkgConfig::minizip "libminizip-dev zlib1g-dev")
orrery_prefer_archives(PkgConfig::minizip "minizip|z")

pkg_check_modules(utf8proc QUIET IMPORTED_TARGET GLOBAL libutf8proc)
orrery_require(PkgConfig::utf8proc libutf8proc-dev)
orrery_prefer_archives(PkgConfig::utf8proc utf8proc)

pkg_check_modules(sqlite3 QUIET IMPORTED_TARGET GLOBAL sqlite3)
orrery_require(PkgConfig::sqlite3 libsqlite3-dev)
orrery_prefer_archives(PkgConfig::sqlite3 sqlite3)

# Optional: without it `place` writes no HDF5 files. The archive alone: the shared library and what it needs would add 20 ms
# to every start.
set(ORRERY_HDF5)
pkg_check_modules(hdf5 QUIET IMPORTED_TARGET GLOBAL hdf5)
if(TARGET PkgConfig::hdf5 AND PROJECT_IS_TOP_LEVEL)
  foreach(library hdf5 sz aec z)
    find_library(ORRERY_ARCHIVE_${library} lib${library}.a HINTS ${hdf5_LIBRARY_DIRS})
    list(APPEND ORRERY_HDF5 ${ORRERY_ARCHIVE_${library}})
  endforeach()
  if("${ORRERY_HDF5}" MATCHES "NOTFOUND")
    message(STATUS "No archives of HDF5 and what it needs: place will write no HDF5 files")
    set(ORRERY_HDF5)
  else()
    add_library(orrery_hdf5 INTERFACE)
    target_include_directories(orrery_hdf5 SYSTEM INTERFACE ${hdf5_INCLUDE_DIRS})
    target_compile_definitions(orrery_hdf5 INTERFACE ORRERY_HDF5)
    target_link_libraries(orrery_hdf5 INTERFACE ${ORRERY_HDF5} ${CMAKE_DL_LIBS} m)
    set(ORRERY_HDF5 orrery_hdf5)
  endif()
endif()

# Optional: without its header models of SentencePiece are not read. The library is opened when one is, not linked: why, says
# formats/tokenizer/sentence_piece_library.cc.
set(ORRERY_SENTENCEPIECE)
pkg_check_modules(sentencepiece QUIET sentencepiece)
find_path(ORRERY_SENTENCEPIECE_INCLUDE sentencepiece_processor.h HINTS ${sentencepiece_INCLUDE_DIRS})
if(ORRERY_SENTENCEPIECE_INCLUDE)
  add_library(orrery_sentencepiece INTERFACE)
  target_include_directories(orrery_sentencepiece SYSTEM INTERFACE ${ORRERY_SENTENCEPIECE_INCLUDE})
  target_compile_definitions(orrery_sentencepiece INTERFACE ORRERY_SENTENCEPIECE)
  target_link_libraries(orrery_sentencepiece INTERFACE ${CMAKE_DL_LIBS})
  set(ORRERY_SENTENCEPIECE orrery_sentencepiece)
else()
  message(STATUS "No libsentencepiece-dev: spiece.model will not be read")
endif()

if(ORRERY_TESTS)
  find_package(GTest QUIET)
  orrery_require(GTest::gtest_main libgtest-dev)
  find_library(RAPIDCHECK_LIBRARY rapidcheck)
  find_path(RAPIDCHECK_INCLUDE rapidcheck.h)
  if(NOT RAPIDCHECK_LIBRARY OR NOT RAPIDCHECK_INCLUDE)
    message(FATAL_ERROR "CMake found no rapidcheck. On Debian: apt-get install librapidcheck-dev")
  endif()
endif()
if(ORRERY_BENCHMARKS)
  find_package(benchmark QUIET)
  orrery_require(benchmark::benchmark libbenchmark-dev)
endif()
