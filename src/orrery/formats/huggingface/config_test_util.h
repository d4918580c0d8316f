// For tests of the reader: small files, and parts of what is read from them.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/describe/workload/transformer_facts.h"
#include "orrery/formats/huggingface/huggingface_config.h"

namespace orrery::formats::huggingface {

inline std::vector<base::Diagnostic> refused(const std::string& text, const ReadOptions& options = {}) {
  return base::refused([&] { read_config(base::source(text), options); });
}

inline workload::Transformer model_of(const std::string& text, const ReadOptions& options = {}) {
  return read_config(base::source(text), options).transformer;
}

inline base::Codes warnings_of(const std::string& text, const ReadOptions& options = {}) {
  return base::codes(read_config(base::source(text), options).diagnostics.all());
}

// Of the first layer.
inline const workload::Attention& attention_of(const workload::Transformer& model) {
  return std::get<workload::Attention>(model.decoder().kinds.front().mixer);
}
inline const workload::FeedForward& feed_forward_of(const workload::Transformer& model) {
  return std::get<workload::FeedForward>(model.decoder().kinds.front().feed_forward);
}
// Of the last.
inline const workload::Experts& experts_of(const workload::Transformer& model) {
  return std::get<workload::Experts>(model.decoder().kinds.back().feed_forward);
}

// A file of `type`, of the sizes that every family of Llama's kind has, with `more` keys.
inline std::string usual(const std::string& type, const std::string& more = {}) {
  return "{\"model_type\": \"" + type + R"(", "hidden_size": 64, "num_hidden_layers": 2,
  "num_attention_heads": 8, "intermediate_size": 128, "max_position_embeddings": 4096, "vocab_size": 100)" +
         (more.empty() ? "" : ", " + more) + "}";
}

inline std::string llama_with(const std::string& more) {
  return usual("llama", more);
}

}  // namespace orrery::formats::huggingface
