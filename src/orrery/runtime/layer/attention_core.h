// The seam at which another attention takes the place of the built-in one: sparse, pruned, measured, ...
#pragma once

#include "orrery/runtime/kernels/attention.h"

namespace orrery::layer {

// Both functions are given what kernels::attend() and kernels::attend_back() are: tensors of queries, keys and values
// with their strides, lengths, window, bias, dropout, and where results go. Which rows belong to a sequence is told by
// query_starts and key_starts. They write `out` (and log_sum, or whatever they need to keep, in memory of their own)
// and the three gradients; rows of sequences without any token are left alone. The layer calls them from one thread.
class AttentionCore {
 public:
  virtual ~AttentionCore() = default;
  virtual void forward(kernels::Context& context, const kernels::Attention& attention) = 0;
  virtual void backward(kernels::Context& context, const kernels::Attention& attention) = 0;
};

}  // namespace orrery::layer
