// How many instances of each fan-out an einsum has to use.
//
// A fan-out asks for a share of its instances. Where the bounds' factors do not reach it, the most that they reach is
// asked for, fan-outs decided from the inside out: what an inner one takes is gone for the outer ones.
#pragma once

#include <vector>

#include "orrery/engines/fused/model/einsum_view.h"

namespace orrery::fused {

struct SpreadSpace {
  std::vector<Count> bounds;               // of what may be spread: variables, or classes of them
  std::vector<std::vector<bool>> allowed;  // [fanout][bound]
  std::vector<Count> ways;                 // [fanout]
  std::vector<double> min_usage;           // [fanout]
};
SpreadSpace spread_space(const EinsumView& view);  // over Einsum::variables

// [fanout]; 1 where nothing is asked. Copies use none.
std::vector<Count> required_usage(const SpreadSpace& space);

// [fanout][bound]: how many parts. All that required_usage allows.
using Spreads = std::vector<std::vector<Count>>;
std::vector<Spreads> allowed_spreads(const SpreadSpace& space);

}  // namespace orrery::fused
