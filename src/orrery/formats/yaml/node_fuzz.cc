// Any bytes give nodes or diagnostics.
#include <cstddef>
#include <cstdint>

#include "orrery/formats/yaml/node.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  auto file = std::make_shared<base::SourceFile>();
  file->name = "fuzz.yaml";
  file->text.assign(reinterpret_cast<const char*>(data), size);
  base::Diagnostics found;
  formats::yaml::parse(file, base::Severity::kWarning, found);
  return 0;
}
