#include "orrery/verbs/place/latency_hdf5_output.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "orrery/base/diagnostics/refused_test_util.h"

#ifdef ORRERY_HDF5
#include <hdf5.h>

#include <map>
#include <vector>
#endif

namespace orrery::verbs {
namespace {

#ifdef ORRERY_HDF5
// What the library itself reads from the bytes.
std::map<std::string, std::vector<double>> read_back(const std::string& bytes) {
  std::map<std::string, std::vector<double>> arrays;
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_core(access, 1 << 16, false);
  std::string copy = bytes;
  H5Pset_file_image(access, copy.data(), copy.size());
  const hid_t file = H5Fopen("read back", H5F_ACC_RDONLY, access);
  EXPECT_GE(file, 0) << "the bytes are no HDF5 file";
  for (const char* name : {"Memory_Latency", "Compute_Latency", "Network_Latency"}) {
    const hid_t array = H5Dopen2(file, name, H5P_DEFAULT);
    EXPECT_GE(array, 0) << name;
    const hid_t space = H5Dget_space(array);
    std::vector<double>& values = arrays[name];
    values.resize(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
    if (!values.empty()) {
      EXPECT_GE(H5Dread(array, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    }
    H5Sclose(space);
    H5Dclose(array);
  }
  H5Fclose(file);
  H5Pclose(access);
  return arrays;
}

TEST(LatencyHdf5, ReadsBackToTheLatenciesOfTheConfigurations) {
  dataflow::PartitionCost cost;
  cost.configurations.resize(3);
  for (int c = 0; c < 3; ++c) {
    cost.configurations[static_cast<std::size_t>(c)].memory_ns = 1.5 * c;
    cost.configurations[static_cast<std::size_t>(c)].compute_ns = 100.25 + c;
    cost.configurations[static_cast<std::size_t>(c)].network_ns = 1e15 / (c + 1);
  }
  EXPECT_EQ(read_back(latency_hdf5(cost)), (std::map<std::string, std::vector<double>>{
                                               {"Memory_Latency", {0, 1.5, 3}},
                                               {"Compute_Latency", {100.25, 101.25, 102.25}},
                                               {"Network_Latency", {1e15, 1e15 / 2, 1e15 / 3}},
                                           }));
}

TEST(LatencyHdf5, NoConfigurationsAreEmptyArrays) {
  for (const auto& [name, values] : read_back(latency_hdf5({}))) EXPECT_TRUE(values.empty()) << name;
}

TEST(LatencyHdf5, TheSameLatenciesAreTheSameBytes) {
  dataflow::PartitionCost cost;
  cost.configurations.resize(2);
  EXPECT_EQ(latency_hdf5(cost), latency_hdf5(cost));
}
#endif

TEST(LatencyHdf5, WithoutTheLibraryNothingIsWritten) {
  ASSERT_EQ(setenv("ORRERY_WITHOUT", "hdf5", 1), 0);
  EXPECT_EQ(hdf5_version(), "");
  EXPECT_EQ(base::codes_of([] { latency_hdf5({}); }), base::Codes{"O1471"});
  ASSERT_EQ(unsetenv("ORRERY_WITHOUT"), 0);
}

}  // namespace
}  // namespace orrery::verbs
