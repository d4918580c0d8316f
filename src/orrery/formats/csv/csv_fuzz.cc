// Any bytes give rows or diagnostics.
#include <cstddef>
#include <cstdint>

#include "orrery/formats/csv/csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  auto file = std::make_shared<base::SourceFile>();
  file->name = "fuzz.csv";
  file->text.assign(reinterpret_cast<const char*>(data), size);
  for (const auto comments : {formats::csv::Comments::kNone, formats::csv::Comments::kHash}) {
    base::Diagnostics found;
    formats::csv::parse(file, comments, found);
  }
  return 0;
}
