// What pruning costs in attention's output, computed both ways.
#pragma once

#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/masks/attention_input.h"
#include "orrery/runtime/kernels/context.h"

namespace orrery::masks {

struct HeadError {
  Count batch = 0, head = 0;
  double relative = 0;   // |pruned - dense| / |dense|, Euclidean over the outputs of valid queries; 0 without any
  double largest = 0;    // largest difference over the largest magnitude of the dense output
  double kept_mass = 0;  // mean over valid queries of the dense probabilities that the mask keeps
};

struct PruningError {
  std::vector<HeadError> heads;        // [batch][heads]
  double relative = 0, kept_mass = 0;  // means over heads
  double worst = 0;                    // largest relative
};

// `value`: [batch][heads][columns][size].
PruningError pruning_error(kernels::Context& context, const AttentionInput& input, const float* value, Count size,
                           const Mask& mask, const base::Budget& budget = {});

}  // namespace orrery::masks
