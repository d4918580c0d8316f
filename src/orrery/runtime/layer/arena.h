// Memory for a layer's tensors, planned once: a tensor lies where others lay that are no longer needed.
//
// The layer's code is run once without computing anything. Each time it asks where a tensor is, the tensor is alive, so
// it lives from the first to the last operator that asks: no table of lifetimes can go wrong. What is alive on both
// sides of the boundary between forward and backward pass is kept in memory of its own. The rest is placed largest
// first, at the lowest address where nothing lies that lives at the same time (Y. Pisarchyk, J. Lee, "Efficient memory
// management for deep neural net inference", 2020: greedy by size; within some percent of the bound in practice).
// Cost: the square of the number of tensors, some forty.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "orrery/runtime/kernels/buffer.h"

namespace orrery::layer {

// What passes within one call. Layers that run one after the other, on one context, may share it.
struct Workspace {
  kernels::Buffer memory;
};

class Arena {
 public:
  // A tensor that will take so many bytes.
  int add(std::size_t bytes);

  // While planning: marks the tensor as alive. Later: where it is.
  void* at(int tensor);
  // An operator has run. / The forward pass ends here.
  void step() { ++step_; }
  void boundary() { boundary_ = step_; }

  void place();  // ends planning
  // Takes memory for what was placed; throws std::bad_alloc.
  void take(std::shared_ptr<Workspace> workspace);

  std::size_t kept_bytes() const { return kept_; }
  std::size_t passing_bytes() const { return passing_; }

 private:
  struct Tensor {
    std::size_t bytes = 0, offset = 0;
    int first = -1, last = -1;  // operators
    bool kept = false;
  };
  std::size_t room_below(const Tensor& tensor, const std::vector<const Tensor*>& placed) const;

  std::vector<Tensor> tensors_;
  int step_ = 0, boundary_ = -1;
  bool planning_ = true;
  std::size_t kept_ = 0, passing_ = 0;
  kernels::Buffer memory_;
  std::shared_ptr<Workspace> workspace_;
};

}  // namespace orrery::layer
