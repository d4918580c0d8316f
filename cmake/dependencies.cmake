# What Orrery needs, all from Debian 12. `./dev` installs the packages named in each message.

function(orrery_require target package)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "CMake found no ${target}. On Debian: apt-get install ${package}")
  endif()
endfunction()

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

find_package(fmt QUIET)
orrery_require(fmt::fmt libfmt-dev)

find_package(yaml-cpp QUIET)
orrery_require(yaml-cpp libyaml-cpp-dev)

find_package(nlohmann_json QUIET)
orrery_require(nlohmann_json::nlohmann_json nlohmann-json3-dev)

find_package(CLI11 QUIET)
orrery_require(CLI11::CLI11 libcli11-dev)

find_package(Protobuf QUIET)
orrery_require(protobuf::libprotobuf libprotobuf-dev)

pkg_check_modules(cbc QUIET IMPORTED_TARGET GLOBAL cbc)
orrery_require(PkgConfig::cbc coinor-libcbc-dev)

pkg_check_modules(xxhash QUIET IMPORTED_TARGET GLOBAL libxxhash)

if(NOT TARGET PkgConfig::xxhash)
  message(FATAL_ERROR "apt-get install libxxhash-dev")
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
