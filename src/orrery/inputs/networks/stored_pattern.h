// Static masks that a checkpoint keeps beside its attentions' weights: buffers `static_sparsity_mask` [n][n] or
// [1 or heads][n][n], 1 where a score is kept and 0 where not, or what is added to scores: 0 and -10000.
#pragma once

#include <optional>
#include <vector>

#include "orrery/engines/masks/mask.h"
#include "orrery/formats/checkpoint/tensor.h"

namespace orrery::verbs {

bool has_stored_pattern(const std::vector<formats::checkpoint::Tensor>& tensors);

// The one mask that all of them are. Throws InputError O1882 where they are no such masks of `heads` heads and `tokens`
// tokens, or not all the same.
masks::Mask stored_pattern(const std::vector<formats::checkpoint::Tensor>& tensors, base::Count heads,
                           base::Count tokens);

// Takes them away, where another mask takes their place.
void drop_stored_patterns(std::vector<formats::checkpoint::Tensor>& tensors);

}  // namespace orrery::verbs
