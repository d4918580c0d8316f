// Any bytes, as JSON and as a pickle, give a layout file or an InputError.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "orrery/formats/substation/layout_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  namespace substation = formats::substation;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto file = std::make_shared<base::SourceFile>(base::SourceFile{"fuzz", std::string(bytes)});
  try {
    substation::layouts_of(substation::parse_layout_json(file));
  } catch (const base::InputError&) {
  }
  try {
    substation::layouts_of(substation::parse_layout_pickle(bytes, {file, 0, 0}));
  } catch (const base::InputError&) {
  }
  return 0;
}
