// Models to test with.
#pragma once

#include <string>
#include <utility>

#include "orrery/describe/workload/transformer.h"

namespace orrery::workload {

// A decoder of `layers` layers like `block`.
inline Transformer model_of(const Block& block, base::Count width, int layers, std::string name = "test") {
  Stack stack;
  stack.name = "decoder";
  stack.width = width;
  stack.kinds = {block};
  stack.layers.assign(static_cast<std::size_t>(layers), 0);
  Transformer model;
  model.name = std::move(name);
  model.stacks = {stack};
  return model;
}

inline Attention heads_of(base::Count heads, base::Count kv_heads, base::Count width) {
  Attention attention;
  attention.heads = heads;
  attention.kv_heads = kv_heads;
  attention.width = attention.value_width = width;
  return attention;
}

inline Block block_of(const Attention& attention, const FeedForward& feed_forward, NormKind norm = NormKind::kRms) {
  Block block;
  block.mixer = attention;
  block.feed_forward = feed_forward;
  block.norm = {norm, true, norm == NormKind::kLayer};
  return block;
}

inline Transformer bert_large() {
  Attention attention = heads_of(16, 16, 64);
  attention.causal = false;
  Transformer model = model_of(block_of(attention, {4096, false, true}, NormKind::kLayer), 1024, 24, "bert-large");
  model.stacks.front().causal = false;
  return model;
}

inline Transformer llama3_8b() {
  return model_of(block_of(heads_of(32, 8, 128), {14336, true, false}), 4096, 32, "llama3-8b");
}

inline Transformer deepseek_v3() {
  Attention attention = heads_of(128, 128, 192);
  attention.value_width = 128;
  attention.latent = Latent{1536, 512, 64, 128};
  Experts experts;
  experts.count = 256;
  experts.top_k = 8;
  experts.expert = {2048, true, false};
  experts.shared = 1;
  experts.shared_expert = {2048, true, false};
  Block dense = block_of(attention, {18432, true, false}), mixture = dense;
  mixture.feed_forward = experts;
  Transformer model = model_of(dense, 7168, 61, "deepseek-v3");
  Stack& stack = model.stacks.front();
  stack.kinds.push_back(mixture);
  for (std::size_t layer = 3; layer < stack.layers.size(); ++layer) stack.layers[layer] = 1;
  return model;
}

}  // namespace orrery::workload
