#include "orrery/engines/nest/search/lattice/lattice_goal.h"

#include <algorithm>
#include <cmath>

namespace orrery::nest::lattice {
namespace {

// A ceiling must not cut off what equals the best but for rounding.
constexpr double kSlack = 1 + 1e-9;

}  // namespace

Goal::Goal(const std::vector<Metric>& objective, double max_cycles, double latency)
    : objective_(objective), max_cycles_(max_cycles), latency_(latency) {
  best_.fill(kNever);
}

bool Goal::improve(const Key& found, double energy_pj, double cycles) {
  if (compare(found, best_, objective_.size()) >= 0) return false;
  best_ = found;
  best_energy_pj_ = energy_pj;
  best_cycles_ = cycles;
  return true;
}

Key Goal::key(double energy_pj, double active, double leak_pj) const {
  // Even where cycles are worked out in doubles, they are rounded up from what differs by less.
  active = std::ceil(active * (1 - kEqual));
  const double cycles = active + latency_;
  if (max_cycles_ > 0 && cycles > max_cycles_ * (1 + kEqual)) return {kNever, kNever, kNever};
  return key_of(objective_, energy_pj + active * leak_pj, cycles);
}

Key Goal::key(double energy_pj, double active, double leak_pj, double together_pj, double mu) const {
  Key bound = key(energy_pj, active, leak_pj);
  if (mu <= 0 || objective_[0] != Metric::kEdp || energy_pj + mu * active >= together_pj) return bound;
  const auto product = [&](double e, double d) { return (e + leak_pj * d) * (d + latency_) / 1e12; };
  const double least =
      std::min(product(energy_pj, (together_pj - energy_pj) / mu), product(together_pj - mu * active, active));
  bound[0] = std::max(bound[0], least * (1 - 4 * kEqual));
  return bound;
}

double Goal::ceiling(double energy_pj, double leak_pj) const {
  double most = max_cycles_ > 0 ? max_cycles_ - latency_ : kNever;
  if (best_[0] < kNever) {
    if (objective_[0] == Metric::kDelay) {
      const double fewer = objective_.size() == 1 ? 1 : 0;  // cycles that a better one takes at least
      most = std::min(most, best_[0] - latency_ - fewer);
    } else if (objective_[0] == Metric::kEnergy) {
      if (leak_pj > 0) most = std::min(most, (best_[0] - energy_pj) / leak_pj);
    } else {
      const double product = best_[0] * 1e12;
      // leak d^2 + (energy + leak latency) d + energy latency = product, the root without cancellation
      const double b = energy_pj + leak_pj * latency_, c = energy_pj * latency_ - product;
      const double root = std::sqrt(std::max(0.0, b * b - 4 * leak_pj * c));
      if (b + root > 0) most = std::min(most, -2 * c / (b + root));
    }
  }
  return most * kSlack;
}

double Goal::energy_ceiling(double active, double leak_pj) const {
  const double cycles = active + latency_;
  if (best_[0] == kNever || objective_[0] == Metric::kDelay || cycles <= 0) return kNever;
  const double most = objective_[0] == Metric::kEnergy ? best_[0] : best_[0] * 1e12 / cycles;
  return most * kSlack - active * leak_pj;
}

double Goal::exchange(double leak_pj) const {
  if (objective_[0] != Metric::kEdp || best_[0] == kNever || best_cycles_ <= 0) return 0;
  return std::max(leak_pj, best_energy_pj_ / best_cycles_ - leak_pj);
}

}  // namespace orrery::nest::lattice
