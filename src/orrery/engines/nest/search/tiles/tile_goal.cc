// Let X be the best energy x delay. A mapping that is active for D cycles or more and beats X takes less than X / (D +
// latency), one that takes E or more is active for no longer than the root of (E + leak D)(D + latency) = X. Given E
// >= e, D >= d and E + mu D >= S, the product is concave along E + mu D = S for mu >= leak, so least at one of its
// ends.
#include "orrery/engines/nest/search/tiles/tile_goal.h"

#include <algorithm>
#include <cmath>

namespace orrery::nest::tiles {

Goal::Goal(const Problem& problem, const std::vector<Metric>& objective, const SearchRules& limits)
    : problem_(problem), objective_(objective), limits_(limits) {
  best_.fill(kNever);
  if (limits.beat) best_ = key_of(objective, *limits.beat), evaluation_ = *limits.beat;
}

Key Goal::offer(const Mapping& mapping) {
  problem_.model->evaluate(mapping, next_);
  const Key found = key_of(objective_, next_);
  if (limits_.max_cycles > 0 && (next_.beyond_cycles > 0 || next_.cycles > limits_.max_cycles)) return found;
  if (compare(found, best_, objective_.size()) < 0) {
    best_ = found;
    mapping_ = mapping;
    std::swap(evaluation_, next_);
  }
  return found;
}

void Goal::offer(const std::optional<Start>& start) {
  if (start && compare(start->key, best_, objective_.size()) < 0)
    best_ = start->key, mapping_ = start->mapping, evaluation_ = start->evaluation;
}

Key Goal::key_of_least(const Least& least) const {
  const double active = problem_.whole_cycles ? std::ceil(least.active * (1 - kEqual)) : least.active;
  return key(least.energy_pj + least.leak_pj_per_cycle * active, active);
}

Key Goal::least_key(const Prices& prices, double energy_pj, double active, double together, double rate) const {
  const Key alone = key(prices.energy_pj(energy_pj, active), active);
  if (rate <= 0 || first() != Metric::kEdp || rate < prices.leak_pj_per_cycle()) return alone;
  const double slow = std::max(active, (together - energy_pj) / rate);
  const double dear = std::max(energy_pj, together - rate * active);
  Key bound = alone;
  bound[0] = std::max(alone[0], std::min(key(prices.energy_pj(energy_pj, slow), slow)[0],
                                         key(prices.energy_pj(dear, active), active)[0]));
  return bound;
}

bool Goal::too_slow(double active) const {
  return limits_.max_cycles > 0 && active + problem_.latency > static_cast<double>(limits_.max_cycles) * (1 + kEqual);
}

Wanted Goal::wanted() const {
  return {[this](const Least& least) {
            return std::isfinite(least.energy_pj) && !too_slow(least.active) && !drop(key_of_least(least));
          },
          [this](double leak, double energy_pj) { return most_active(leak, energy_pj); }};
}

double Goal::most_energy_pj(const Prices& prices, double active) const {
  if (first() == Metric::kDelay || best_[0] == kNever) return kNever;
  const double most = first() == Metric::kEdp ? best_[0] * 1e12 / (active + problem_.latency) : best_[0];
  return at_the_edge(most - prices.leak_pj_per_cycle() * active);
}

double Goal::most_active(double leak, double energy_pj) const {
  if (first() == Metric::kEnergy || best_[0] == kNever) return kNever;
  if (first() == Metric::kDelay) return at_the_edge(best_[0] - problem_.latency);
  // (energy + leak active) (active + latency) = best
  const double latency = problem_.latency;
  const double linear = energy_pj + leak * latency, constant = best_[0] * 1e12 - energy_pj * latency;
  if (constant <= 0) return 0;
  return at_the_edge(2 * constant / (linear + std::sqrt(linear * linear + 4 * leak * constant)));
}

// The most energy is convex in the cycles, so the sum is largest at one of their ends.
double Goal::most_together(const Prices& prices, double energy_pj, double active) const {
  const double slow = std::max(active, most_active(prices, energy_pj));
  return std::max(most_energy_pj(prices, active) + rate() * active, most_energy_pj(prices, slow) + rate() * slow);
}

// Equal answers are of no use either, unless another metric decides between them.
double Goal::at_the_edge(double most) const {
  return most * (objective_.size() == 1 ? 1 - kEqual / 2 : 1 + 4 * kEqual);
}

}  // namespace orrery::nest::tiles
