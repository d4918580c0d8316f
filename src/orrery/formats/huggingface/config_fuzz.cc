// Any bytes give a model with its counts and operators, or diagnostics, in both strictnesses.
#include <cstddef>
#include <cstdint>

#include "orrery/describe/workload/transformer_facts.h"
#include "orrery/describe/workload/transformer_operators.h"
#include "orrery/formats/huggingface/huggingface_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  using formats::huggingface::Strictness;
  auto file = std::make_shared<base::SourceFile>();
  file->name = "config.json";
  file->text.assign(reinterpret_cast<const char*>(data), size);
  for (const Strictness strictness : {Strictness::kForeign, Strictness::kCatalogue}) {
    try {
      const workload::Transformer model = formats::huggingface::read_config(file, {strictness}).transformer;
      workload::parameters(model);
      workload::forward_flop(model, 128);
      workload::model_operators(model, {1, 128, 0});
      workload::model_operators(model, {4, 1, 128});
    } catch (const base::InputError&) {
    }
  }
  return 0;
}
