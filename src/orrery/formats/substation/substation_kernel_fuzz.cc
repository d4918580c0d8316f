// Any bytes as a kernel's file give rows that a selection can number, or diagnostics whose places are in the file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "orrery/formats/substation/kernel_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  namespace substation = formats::substation;
  static const auto files =
      substation::expected_files(tuning::encoder_graph(tuning::Sizes::encoder(8, 512, 16, 1024, 4096)));
  for (const substation::Expected& expected : files) {
    if (expected.contraction) continue;
    base::Diagnostics found;
    substation::SizesSeen sizes;
    tuning::Measured table = substation::empty_table(expected);
    {
      substation::Source source("fuzz.csv", {reinterpret_cast<const char*>(data), size});
      substation::read_kernel(source, expected, sizes, table, found);
    }
    if (table.layouts.size() != table.rows() * table.columns.size() ||
        table.chosen.size() != table.rows() * table.specials.size())
      std::abort();
    for (std::size_t i = 0; i < table.layouts.size(); ++i)
      if (table.layouts[i] >= table.columns[i % table.columns.size()].values.size()) std::abort();
    for (const base::Count time : table.times)
      if (time <= 0) std::abort();
  }
  return 0;
}
