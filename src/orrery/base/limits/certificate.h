// What a search proves about its answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery::base {

// How many partial answers each argument pruned. Names are stable: "capacity", "bound", "dominance".
struct Pruned {
  std::string argument;
  std::uint64_t count = 0;
};

// By what share of `found` an answer may at most be better.
inline double gap(double found, double bound) {
  return found > bound && found > 0 ? (found - bound) / found : 0;
}

// `lower_bound` is on the first objective, in its own unit (edp: J*cycles, energy: pJ, delay: cycles):
// no allowed mapping costs less. `gap` = (found - lower_bound) / found, 0 when `optimal`.
struct Certificate {
  bool optimal = false;
  double lower_bound = 0;
  double gap = 1;
  double space = 0;             // mappings that the constraints allow before capacity (may exceed 2^64)
  std::uint64_t evaluated = 0;  // complete mappings whose cost was computed
  std::vector<Pruned> pruned;
  double seconds = 0;

  // What was found costs `found`, and nothing costs less than `bound`, but for rounding. An answer that the search
  // knows to be `optimal` is its own bound.
  void close(double found, double bound) {
    lower_bound = optimal || found < bound ? found : bound;
    gap = base::gap(found, lower_bound);
  }

  // The same where the bound decides: what is within the share `tie` of it counts as optimal.
  void close(double found, double bound, double tie) {
    optimal = bound >= found * (1 - tie);
    close(found, bound);
  }

  // Proven: nothing is allowed.
  void close_empty() {
    optimal = true;
    lower_bound = gap = 0;
  }
};

}  // namespace orrery::base
