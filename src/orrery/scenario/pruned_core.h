// Pruned attention in the place of a layer's own (layer::Encoder::replace_attention): one for each layer, since what it
// kept forwards is what it needs backwards.
#pragma once

#include <utility>

#include "orrery/layer/attention_core.h"
#include "orrery/sparse/pruned_attention.h"

namespace orrery::scenario {

struct PrunedCore : layer::AttentionCore {
  explicit PrunedCore(const sparse::PredictorOptions& options) : attention(options) {}
  explicit PrunedCore(sparse::Mask pattern) : attention(std::move(pattern)) {}

  void forward(kernels::Context& context, const kernels::Attention& request) override {
    attention.forward(context, request);
  }
  void backward(kernels::Context& context, const kernels::Attention& request) override {
    attention.backward(context, request);
  }

  sparse::PrunedAttention attention;
};

}  // namespace orrery::scenario
