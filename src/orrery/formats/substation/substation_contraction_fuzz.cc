// Any bytes as a contraction's results, or as its layouts and raw times in turn, give rows or diagnostics.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "orrery/formats/substation/contraction_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  namespace substation = formats::substation;
  static const auto files =
      substation::expected_files(tuning::encoder_graph(tuning::Sizes::encoder(8, 512, 16, 1024, 4096)));
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t half = bytes.find("\n\n") == std::string_view::npos ? size / 2 : bytes.find("\n\n") + 1;
  for (const substation::Expected& expected : files) {
    if (!expected.contraction) continue;
    for (const bool merged : {true, false}) {
      base::Diagnostics found;
      substation::SizesSeen sizes;
      tuning::Measured table = substation::empty_table(expected);
      substation::Source first("fuzz.csv", merged ? bytes : bytes.substr(0, half));
      if (merged) {
        substation::read_result(first, expected, sizes, table, found);
      } else {
        std::vector<std::unique_ptr<substation::Source>> ranks;
        ranks.push_back(std::make_unique<substation::Source>("fuzz-bm0.csv", bytes.substr(half)));
        substation::read_ranks(first, ranks, expected, sizes, table, found);
      }
      sizes.check_products(found);
      if (table.layouts.size() != table.rows() * table.columns.size() || table.chosen.size() != table.rows())
        std::abort();
      for (const base::Count time : table.times)
        if (time <= 0) std::abort();
    }
  }
  return 0;
}
