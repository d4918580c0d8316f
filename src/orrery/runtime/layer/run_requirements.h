// What running a layer will take, known before anything runs.
#pragma once

#include <cstddef>
#include <vector>

#include "orrery/runtime/layer/profile.h"
#include "orrery/runtime/layer/shape.h"

namespace orrery::layer {

struct Plan {
  std::size_t weights = 0;          // bytes of packed weights (about: each instruction set packs in its own way)
  std::size_t saved = 0;            // of what forward() leaves to backward(), the layer's input excluded
  std::size_t passing = 0;          // of what lives within one pass; layers can share it (Workspace)
  std::vector<Operator> operators;  // of forward, then backward when training, with dropout, without padding

  std::size_t bytes() const { return weights + saved + passing; }
};

// Throws base::InputError with what checked() says, and O1507 when bytes() exceed `memory` (0: any).
Plan plan(const Shape& shape, bool training, std::size_t memory = 0);

}  // namespace orrery::layer
