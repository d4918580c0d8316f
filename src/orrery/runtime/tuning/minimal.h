// What a layer moves where everything is fused that today's kernels fuse, operator by operator.
//
//   - What follows a contraction element by element or row by row is done on its result: biases, turns, activation,
//   dropout,
//     addition to the stream, norm. A norm that follows none (the first before the maps, backward the last behind them)
//     is an operator of its own.
//   - Scores never leave the chip (flash attention): forward, their logarithms of sums are kept, of each head and
//   query;
//     backward, probabilities are computed again from these, and sums over keys from the attention's result.
//   - Masks of dropout are drawn again from counters. Of the network one tensor is kept from which the activation and
//   its
//     slope follow; a gated one keeps gate, network and their product.
//   - Of a norm its result and the deviation of each row are kept; normalised values follow from them.
//   - Sums over tokens (gradients of biases and of scales) are done where their operand is read. Vectors (biases,
//   scales and
//     their gradients) are counted forward only, as in Substation's reference figures: some thousand words of millions.
//
// For Substation's encoder these are 15 operators. It is a level to compare with, no proven bound: compulsory traffic
// is.
#pragma once

#include <string>
#include <vector>

#include "orrery/runtime/tuning/layer_operators.h"

namespace orrery::tuning {

struct Moved {
  std::string name, dims;
};

struct MinimalOperator {
  std::string name;
  bool backward = false;
  std::vector<Moved> reads, writes;
};

base::Count words(const std::vector<Moved>& moved, const Sizes& sizes);  // throws base::OverflowError

// In launch order.
std::vector<MinimalOperator> minimal_operators(const LayerOptions& options);

}  // namespace orrery::tuning
