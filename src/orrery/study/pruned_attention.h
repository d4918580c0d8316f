// Pruned attention (sparse/pruned_attention.h) in the place of a layer's own.
#pragma once

#include <functional>

#include "orrery/layer/attention_core.h"
#include "orrery/sparse/pruned_attention.h"

namespace orrery::study {

class PrunedAttention : public sparse::PrunedAttention, public layer::AttentionCore {
 public:
  using sparse::PrunedAttention::PrunedAttention;

  void forward(kernels::Context& context, const kernels::Attention& attention) override {
    sparse::PrunedAttention::forward(context, attention);
    if (prunes() && told) told();
  }
  void backward(kernels::Context& context, const kernels::Attention& attention) override {
    sparse::PrunedAttention::backward(context, attention);
  }

  std::function<void()> told;  // behind each forward pass that pruned
};

}  // namespace orrery::study
