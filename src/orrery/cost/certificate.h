// What a search proves about its answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery::cost {

// How many partial answers an argument removed. Names are stable: "capacity", "bound", "dominance".
struct Pruned {
  std::string argument;
  std::uint64_t count = 0;
};

// `lower_bound` is on the first objective, in its own unit (edp: J*cycles, energy: pJ, delay: cycles):
// no allowed mapping is below it. `gap` = (found - lower_bound) / found, 0 when `optimal`.
struct Certificate {
  bool optimal = false;
  double lower_bound = 0;
  double gap = 1;
  double space = 0;             // mappings that the constraints allow before capacity (may exceed 2^64)
  std::uint64_t evaluated = 0;  // complete mappings whose cost was computed
  std::vector<Pruned> pruned;
  double seconds = 0;
};

}  // namespace orrery::cost
