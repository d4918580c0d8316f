// Pruned attention (engines/masks/pruned_attention.h) in the place of a layer's own.
#pragma once

#include <functional>

#include "orrery/engines/masks/pruned_attention.h"
#include "orrery/runtime/layer/attention_core.h"

namespace orrery::pruning {

class PrunedAttention : public masks::PrunedAttention, public layer::AttentionCore {
 public:
  using masks::PrunedAttention::PrunedAttention;

  void forward(kernels::Context& context, const kernels::Attention& attention) override {
    masks::PrunedAttention::forward(context, attention);
    if (prunes() && told) told();
  }
  void backward(kernels::Context& context, const kernels::Attention& attention) override {
    masks::PrunedAttention::backward(context, attention);
  }

  std::function<void()> told;  // behind each forward pass that pruned
};

}  // namespace orrery::pruning
