// Masks from full-precision scores, and rows that a mask leaves empty.
#pragma once

#include "orrery/engines/masks/prediction/predictor.h"
#include "orrery/runtime/kernels/context.h"

namespace orrery::masks {

// Keeps the keys whose probability exceeds the threshold. Rows without any are left empty.
void keep_probable(kernels::Context& context, const AttentionInput& input, double threshold, Mask& mask);

// Gives rows that keep nothing what the policy says, the most probable key by the scores themselves, and numbers them,
// rising, in `emptied` ([batch][heads][rows]). Rows of padding and those that see no key are left alone.
void settle_empty(kernels::Context& context, const AttentionInput& input, EmptyRows policy, Mask& mask,
                  std::vector<Count>& emptied);

}  // namespace orrery::masks
