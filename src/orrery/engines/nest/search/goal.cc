#include "orrery/engines/nest/search/goal.h"

namespace orrery::nest {

double Goal::most_energy_pj(double active, double leak_pj) const {
  const double cycles = active + latency_;
  if (best()[0] == kNever || first() == Metric::kDelay || cycles <= 0) return kNever;
  const double most = first() == Metric::kEnergy ? best()[0] : best()[0] * 1e12 / cycles;
  return most * margins_.ceiling - active * leak_pj;
}

double Goal::most_active(double energy_pj, double leak_pj) const {
  double most = margins_.most_active;
  if (best()[0] == kNever) return most * margins_.ceiling;
  if (first() == Metric::kDelay) {
    most = std::min(most, best()[0] - latency_ - (objective_.size() == 1 ? margins_.fewer_cycles : 0));
  } else if (first() == Metric::kEnergy) {
    if (leak_pj > 0) most = std::min(most, (best()[0] - energy_pj) / leak_pj);
  } else {
    // leak d^2 + (energy + leak latency) d = product - energy latency, the root without cancellation
    const double linear = energy_pj + leak_pj * latency_, constant = best()[0] * 1e12 - energy_pj * latency_;
    const double root = std::sqrt(std::max(0.0, linear * linear + 4 * leak_pj * constant));
    if (linear + root > 0) most = std::min(most, std::max(0.0, 2 * constant / (linear + root)));
  }
  return most * margins_.ceiling;
}

// The most energy is convex in the cycles, so the sum is largest at one of their ends.
double Goal::most_together(double energy_pj, double active, double leak_pj) const {
  const double slow = std::max(active, most_active(energy_pj, leak_pj));
  return std::max(most_energy_pj(active, leak_pj) + rate() * active, most_energy_pj(slow, leak_pj) + rate() * slow);
}

}  // namespace orrery::nest
