// Losses with their gradients. Each replaces logits by the gradient of `scale` times the sum of the rows' losses, and
// returns that sum, unscaled. Sums are taken in the order of the rows: the same for any number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/runtime/kernels/context.h"

namespace orrery::network {

using kernels::Index;

// -log softmax(row)[label]; logits: [rows][columns].
double cross_entropy(kernels::Context& context, float* logits, Index rows, Index columns, const std::int32_t* labels,
                     double scale);

// (logit - value)^2; logits: [rows][1].
double squared_error(float* logits, Index rows, const float* values, double scale);

// A span's begin and end among the tokens of each sequence: the mean of two cross entropies over tokens. logits:
// [tokens][2], `lengths` of the sequences' tokens behind one another. A begin or end beyond the sequence is no label.
// Unlike the others a mean: each side's sum is divided by twice the number of its labels.
double span_loss(float* logits, const std::vector<Index>& lengths, const std::int32_t* begins, const std::int32_t* ends,
                 double scale);

}  // namespace orrery::network
