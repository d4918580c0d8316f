// Any bytes are a family's document, which reads a config.json, or diagnostics.
#include <cstddef>
#include <cstdint>

#include "orrery/describe/workload/transformer_facts.h"
#include "orrery/formats/huggingface/families/described_family.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  using namespace formats::huggingface;
  auto file = std::make_shared<base::SourceFile>();
  file->name = "family.yaml";
  file->text.assign(reinterpret_cast<const char*>(data), size);
  auto config = std::make_shared<base::SourceFile>();
  config->name = "config.json";
  config->text =
      R"({"hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 96, "vocab_size": 99,
          "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32})";
  try {
    base::Diagnostics found;
    const formats::json::Node object = formats::json::parse(config, "O0900", "");
    for (const Family& family : read_families(file)) {
      ConfigKeys keys(object, {config, 0, 0, 1}, found);
      workload::Transformer model;
      Reading reading{keys, model};
      read_described(family, reading);
      if (!found.has_errors()) workload::parameters(model);
    }
  } catch (const base::InputError&) {
  } catch (const base::OverflowError&) {
  }
  return 0;
}
