// Keys and values of the tokens so far, for generation: each next token looks at them instead of computing them again.
#pragma once

#include "orrery/runtime/kernels/buffer.h"
#include "orrery/runtime/layer/shape.h"

namespace orrery::layer {

// Of one layer. All sequences have the same number of tokens so far. The keys and values of a decoder's memory are
// computed at the first call after clear() and kept.
class Cache {
 public:
  Cache(const Shape& shape, Index capacity);  // at most so many tokens in a sequence

  Index batch() const { return batch_; }
  Index tokens() const { return tokens_; }
  Index capacity() const { return capacity_; }
  void clear() { tokens_ = 0, has_memory_ = false; }

 private:
  friend struct LayerState;
  kernels::Buffer self_, memory_;  // [batch][capacity or memory_length][keys, values]
  Index batch_ = 0, capacity_ = 0, tokens_ = 0;
  bool has_memory_ = false;
};

}  // namespace orrery::layer
