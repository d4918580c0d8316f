// Any bytes give timed products or an InputError.
#include <cstddef>
#include <cstdint>

#include "orrery/formats/orrery/measured_products.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  auto file = std::make_shared<base::SourceFile>();
  file->name = "fuzz.csv";
  file->text.assign(reinterpret_cast<const char*>(data), size);
  try {
    formats::orrery::read_measured_products(file);
  } catch (const base::InputError&) {
  }
  return 0;
}
