// Hugging Face `config.json` into workload::TransformerConfig.
//
// Families: BERT and RoBERTa, DistilBERT, GPT-2 (whose keys also describe GPT-3), GPT-NeoX, OPT, Llama, Mistral, Qwen2,
// Gemma, Nemotron, Mixtral and DeepSeek-V3. Only the keys that shape a block are read; config.json has many others,
// which are ignored.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/diagnostic.h"
#include "orrery/workload/transformer.h"

namespace orrery::formats::huggingface {

struct ConfigDocument {
  workload::TransformerConfig config;  // complete; `name` is `_name_or_path`, else the model type
  // Catalogue entries only:
  std::string title;                                         // `_title`
  std::vector<std::pair<std::string, std::string>> sources;  // `_source`: key, where its figure comes from
  base::Diagnostics diagnostics;                             // warnings
};

enum class Strictness {
  kForeign,    // unknown keys are ignored, duplicate keys are warnings
  kCatalogue,  // both are errors, and each figure must have a `_source`
};

// Throws InputError with everything found: O0900 no JSON object, O0901 unknown `model_type`, O0902 missing
// keys, O0903 wrong types, O0904 duplicate keys, O0905 unknown keys, O0906 figures without a source, O0907 more
// experts for a token than there are,
// and what workload::complete finds.
ConfigDocument read_config(const std::shared_ptr<const base::SourceFile>& file,
                           Strictness strictness = Strictness::kForeign);

// The model types that are understood.
std::vector<std::string> model_types();

}  // namespace orrery::formats::huggingface
