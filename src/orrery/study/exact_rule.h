// Masks from full-precision scores, and rows that a mask leaves empty.
#pragma once

#include "orrery/kernels/context.h"
#include "orrery/sparse/predictor.h"

namespace orrery::study {

// Keeps the keys whose probability exceeds the threshold. Rows without any are left empty.
void keep_probable(kernels::Context& context, const sparse::AttentionInput& input, double threshold,
                   sparse::Mask& mask);

// Gives rows that keep nothing what the policy says, the most probable key by the scores themselves, and numbers them,
// rising, in `emptied` ([batch][heads][rows]). Rows of padding and those that see no key are left alone.
void settle_empty(kernels::Context& context, const sparse::AttentionInput& input, sparse::EmptyRows policy,
                  sparse::Mask& mask, std::vector<sparse::Count>& emptied);

}  // namespace orrery::study
