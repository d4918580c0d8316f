// Which bandwidths say together how long a mapping takes.
#pragma once

#include <algorithm>
#include <cstddef>

#include "orrery/engines/nest/search/lattice/lattice_problem.h"

namespace orrery::nest::lattice {

// How much each resource's cycles count where their weighted mean stands for the slowest: no mean exceeds it. Weights
// that make the least mean large are found by fictitious play: each answer, the loads of a mapping of least mean, adds
// to the weight of the resource that is slowest there.
struct Weights {
  Loads of{};
  double compute = 0;  // of the compute units
  int answers = 0;

  void answer(const Loads& loads, double compute_cycles, int resources) {
    int slowest = -1;
    double most = compute_cycles;
    for (int r = 0; r < resources; ++r)
      if (loads[r] > most) most = loads[r], slowest = r;
    const double step = std::max(1.0 / ++answers, kLeastStep);
    for (double& weight : of) weight *= 1 - step;
    compute *= 1 - step;
    (slowest < 0 ? compute : of[slowest]) += step;
  }
  double mean(const Loads& loads, double compute_cycles) const {
    double sum = compute * compute_cycles;
    for (std::size_t r = 0; r < of.size(); ++r) sum += of[r] * loads[r];
    return sum;
  }

 private:
  static constexpr double kLeastStep = 0.1;
};

}  // namespace orrery::nest::lattice
