// The HDF5 library writes the file into memory (its `core` driver, without a backing store), and its image is the
// answer. The library is optional: what it is built with says cmake/dependencies.cmake. ORRERY_WITHOUT=hdf5 hides it,
// so that what is then said can be tested.
#include "orrery/verbs/place/latency_hdf5_output.h"

#include <cstdlib>
#include <string_view>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/diagnostics/diagnostic.h"

#ifdef ORRERY_HDF5
#include <hdf5.h>

#include <iterator>
#include <vector>
#endif

namespace orrery::verbs {

#ifdef ORRERY_HDF5
namespace {

// An identifier of the library, closed by `close`.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {
    ORRERY_CHECK(id >= 0, "the HDF5 library refuses to write to memory");
  }
  ~Handle() { close_(id_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }  // NOLINT(google-explicit-constructor): what the library takes

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

void done(herr_t status) {
  ORRERY_CHECK(status >= 0, "the HDF5 library does not write an array to memory");
}

void write_array(hid_t file, const char* name, const std::vector<double>& values) {
  const hsize_t count = values.size();
  const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  const Handle array(H5Dcreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
  if (!values.empty()) done(H5Dwrite(array, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
}

}  // namespace
#endif

std::string hdf5_version() {
#ifdef ORRERY_HDF5
  const char* hidden = std::getenv("ORRERY_WITHOUT");
  if (hidden == nullptr || std::string_view(hidden) != "hdf5") return H5_VERS_INFO;
#endif
  return {};
}

void require_hdf5() {
  if (hdf5_version().empty())
    base::fail("O1471", "this Orrery was built without the HDF5 library, so it writes no HDF5 files", {},
               "apt-get install libhdf5-dev, and build it again; `--json` has the same figures");
}

std::string latency_hdf5([[maybe_unused]] const dataflow::PartitionCost& partition) {
  require_hdf5();
  std::string image;
#ifdef ORRERY_HDF5
  constexpr std::size_t kStep = std::size_t{1} << 16;  // bytes by which the file in memory grows
  const Handle in_memory(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  done(H5Pset_fapl_core(in_memory, kStep, false));
  const Handle file(H5Fcreate("latency.h5", H5F_ACC_TRUNC, H5P_DEFAULT, in_memory), H5Fclose);
  constexpr const char* kNames[] = {"Memory_Latency", "Compute_Latency", "Network_Latency"};
  constexpr double dataflow::ConfigurationCost::*kFigures[] = {&dataflow::ConfigurationCost::memory_ns,
                                                               &dataflow::ConfigurationCost::compute_ns,
                                                               &dataflow::ConfigurationCost::network_ns};
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    std::vector<double> values;
    for (const dataflow::ConfigurationCost& cost : partition.configurations) values.push_back(cost.*kFigures[i]);
    write_array(file, kNames[i], values);
  }
  done(H5Fflush(file, H5F_SCOPE_GLOBAL));
  const ssize_t bytes = H5Fget_file_image(file, nullptr, 0);
  ORRERY_CHECK(bytes > 0, "the HDF5 library has no image of the file");
  image.resize(static_cast<std::size_t>(bytes));
  ORRERY_CHECK(H5Fget_file_image(file, image.data(), image.size()) == bytes, "the image of the file has changed");
#endif
  return image;
}

}  // namespace orrery::verbs
