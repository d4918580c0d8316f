// The answer among chains of equal sums: fewest configurations with a kernel, then the least maximum of SRAM, then the
// first assignment in kernel order.
//
// Chains are paths through layers of states, and every path along the arcs is an answer. Three rounds of forward and
// backward passes, each keeping the arcs on paths that are best so far. In the last, states are ideals: whatever led to
// one, the same kernels are open, so the first assignment up to it is part of the first of all.
// Cost: a few steps per arc, and one comparison of assignments.
#pragma once

#include <cstddef>
#include <vector>

namespace orrery::dataflow {

struct ChainArc {
  int layer = 0;                 // the configuration
  std::size_t from = 0, to = 0;  // states of this layer and of the next
  std::size_t set = 0;           // what runs
};
struct ChainSet {
  std::vector<int> kernels;
  double sram_bytes = 0;
};

// `arcs` by ascending layer; states[l] is the number of states of layer l. Paths go from state 0 of
// layer 0 to state `end` of the last; there must be one.
std::vector<int> first_chain(std::vector<ChainArc> arcs, const std::vector<ChainSet>& sets,
                             const std::vector<std::size_t>& states, std::size_t end, std::size_t kernels);

}  // namespace orrery::dataflow
