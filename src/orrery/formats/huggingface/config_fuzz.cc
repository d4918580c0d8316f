// Any bytes give a configuration or diagnostics, in both strictnesses.
#include <cstddef>
#include <cstdint>

#include "orrery/formats/huggingface/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  using formats::huggingface::Strictness;
  auto file = std::make_shared<base::SourceFile>();
  file->name = "config.json";
  file->text.assign(reinterpret_cast<const char*>(data), size);
  for (const Strictness strictness : {Strictness::kForeign, Strictness::kCatalogue}) {
    try {
      const auto document = formats::huggingface::read_config(file, {strictness});
      workload::transformer_block(document.config, 1, 128);
    } catch (const base::InputError&) {
    }
  }
  return 0;
}
