// Objectives as numbers to compare: one per metric, in order of preference.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <vector>

#include "orrery/engines/nest/model/evaluation.h"

namespace orrery::nest {

enum class Metric { kEdp, kEnergy, kDelay };

// Metrics that agree to this share count as equal: sums of doubles taken in another order differ by less.
inline constexpr double kEqual = 1e-12;
inline constexpr double kNever = std::numeric_limits<double>::infinity();

// Entries beyond the objective's length are 0.
using Key = std::array<double, 3>;

inline Key key_of(const std::vector<Metric>& objective, double energy_pj, double cycles) {
  Key key{};
  for (std::size_t k = 0; k < objective.size(); ++k)
    key[k] = objective[k] == Metric::kEdp      ? energy_pj * cycles / 1e12
             : objective[k] == Metric::kEnergy ? energy_pj
                                               : cycles;
  return key;
}

inline Key key_of(const std::vector<Metric>& objective, const Evaluation& evaluation) {
  return key_of(objective, evaluation.energy_pj, evaluation.needed_cycles());
}

// -1: a is better, +1: b is, 0: equal within rounding.
inline int compare(const Key& a, const Key& b, std::size_t metrics) {
  for (std::size_t k = 0; k < metrics; ++k) {
    if (a[k] < b[k] * (1 - kEqual)) return -1;
    if (a[k] > b[k] * (1 + kEqual)) return 1;
  }
  return 0;
}

}  // namespace orrery::nest
