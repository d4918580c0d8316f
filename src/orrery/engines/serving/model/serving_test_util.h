// Machines and models of tests: an H100 as its data sheet has it, and models whose sizes are known.
#pragma once

#include "orrery/describe/workload/plain_transformer.h"
#include "orrery/engines/cluster/model/system.h"
#include "orrery/engines/serving/model/served_model.h"

namespace orrery::serving {

inline cluster::System test_system() {
  cluster::System out;
  out.name = "eight H100";
  machine::Accelerator& a = out.accelerator;
  a.name = "H100";
  a.peak_flops_per_s = {67e12, 495e12, 989e12, 1979e12, 0, 0};
  a.memory_bytes = 80e9;
  a.memory_bytes_per_s = 3.35e12;
  a.host_seconds_per_op = 20e-6;
  out.node_size = 8;
  out.fabric.count = 1;
  out.fabric.levels[0].size = 8;
  out.fabric.levels[0].bytes_per_s = 450e9;
  out.price_per_gpu_hour = 2;
  out.watts_per_gpu = 700;
  return out;
}

// Llama 3.1 8B's.
inline workload::PlainTransformer test_sizes() {
  workload::PlainTransformer out;
  out.layers = 32;
  out.hidden = 4096;
  out.heads = 32;
  out.kv_heads = 8;
  out.head_width = 128;
  out.ffn = 14336;
  out.vocab = 128256;
  out.gated = true;
  out.biases = out.dropout = out.learned_positions = out.tied_embedding = false;
  return out;
}
inline ServedModel test_model(const workload::PlainTransformer& sizes = test_sizes()) {
  return served(workload::plain_transformer(sizes));
}

// Mixtral 8x7B's experts.
inline workload::PlainTransformer test_mixture() {
  workload::PlainTransformer out = test_sizes();
  out.vocab = 32000;
  out.ffn = 0;
  out.experts.count = 8;
  out.experts.top_k = 2;
  out.experts.ffn = 14336;
  return out;
}

// DeepSeek-V4 Pro's: 30 layers of entries of 4 tokens, with an index, 31 of entries of 128.
inline ServedModel joined_model() {
  ServedModel out;
  ServedLayers light{.layers = 30, .width = 7168, .heads = 128, .kv_heads = 1, .key_width = 512, .value_width = 512};
  light.latent = light.latent_value = 512;
  light.span = 128;
  ServedLayers heavy = light;
  heavy.layers = 31, heavy.compressed = 128;
  light.compressed = 4, light.picked = 1024, light.index_heads = 64, light.index_width = 128;
  out.kinds = {light, heavy};
  out.layers = 61, out.width = 7168, out.outputs = 129280;
  return out;
}

}  // namespace orrery::serving
