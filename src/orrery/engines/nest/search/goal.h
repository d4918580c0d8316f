// What the best answer so far leaves to others, as combined limits on energy and cycles: for the searches over tables,
// lattice/ and tiles/.
//
// Bounds are pairs: energy of at least e, cycles of at least d. For energy x delay a third helps where a bandwidth
// binds, since little energy and few cycles then exclude each other: with weights on the loads that sum to mu, every
// mapping has E + mu D >= S (S: least energy plus weighted loads, Lagrange). The product (E + P D)(D + latency), P the
// leakage per cycle, is concave along the line E = S - mu D when mu >= P, so over the region it is least in one of two
// corners.
//
// The other way round: a mapping that beats the product X and is active for D cycles takes less energy than
// X / (D + latency), and one of energy E is active for no longer than the root of (E + P D)(D + latency) = X.
#pragma once

#include <algorithm>
#include <cmath>

#include "orrery/engines/nest/search/incumbent.h"

namespace orrery::nest {

class Goal : public Incumbent {
 public:
  // Where a search that rounds draws the line.
  struct Margins {
    double ceiling = 1;           // ceilings on energy and cycles are widened, or below 1 narrowed, by this factor
    double product = 1;           // the least product in a corner is taken for so much less
    double fewer_cycles = 0;      // that a better mapping takes at least, where only cycles count
    double most_active = kNever;  // cycles of any mapping, whatever the best is
  };

  // `latency`: cycles that are added to every mapping's active ones.
  Goal(const std::vector<Metric>& objective, const SearchRules& rules, double latency, const Margins& margins)
      : Incumbent(objective, rules), latency_(latency), margins_(margins) {}

  Metric first() const { return objective_[0]; }
  // False where only cycles decide.
  bool energy_counts() const { return objective_.size() > 1 || first() != Metric::kDelay; }
  bool too_slow(double active) const { return max_cycles_ > 0 && active + latency_ > max_cycles_ * (1 + kEqual); }

  // Whether all candidates with bounds from `bound` on, in rising order, can be dropped. Metrics that differ by
  // rounding only may come in either order, so a later bound may be better by the next metric.
  bool drop_from(const Key& bound) const {
    return drop(bound) && (objective_.size() == 1 || bound[0] > best()[0] * (1 + 16 * kEqual));
  }

  // Of so much energy and so many active cycles at least.
  Key key(double energy_pj, double active) const { return key_of(objective_, energy_pj, active + latency_); }
  // The same with leakage per cycle on top. Cycles are whole, and too many of them are never wanted.
  Key whole_key(double energy_pj, double active, double leak_pj) const {
    // Even where cycles are worked out in doubles, they are rounded up from what differs by less.
    active = std::ceil(active * (1 - kEqual));
    if (too_slow(active)) return {kNever, kNever, kNever};
    return key(energy_pj + active * leak_pj, active);
  }
  // `bound`, which is of so much energy, leakage apart, and so many active cycles at least, if E + rate D >=
  // together_pj, too.
  Key traded(Key bound, double energy_pj, double active, double leak_pj, double together_pj, double rate) const {
    if (rate <= 0 || rate < leak_pj || first() != Metric::kEdp || energy_pj + rate * active >= together_pj)
      return bound;
    const auto product = [&](double e, double d) { return (e + leak_pj * d) * (d + latency_) / 1e12; };
    const double least =
        std::min(product(energy_pj, (together_pj - energy_pj) / rate), product(together_pj - rate * active, active));
    bound[0] = std::max(bound[0], least * margins_.product);
    return bound;
  }

  // Most energy, leakage apart, of a better mapping that is active for so many cycles at least.
  double most_energy_pj(double active, double leak_pj) const;
  // Most active cycles of a better mapping that takes so much energy at least.
  double most_active(double energy_pj, double leak_pj) const;
  // Most E + rate() D of a better mapping of so much energy and so many cycles at least.
  double most_together(double energy_pj, double active, double leak_pj) const;

  // Energy of a cycle at the best answer.
  double rate() const { return evaluation().energy_pj / evaluation().needed_cycles(); }
  // mu, the energy that a cycle is worth at the best answer; 0 where energy and cycles are not traded.
  double exchange(double leak_pj) const {
    if (first() != Metric::kEdp || best()[0] == kNever || evaluation().needed_cycles() <= 0) return 0;
    return std::max(leak_pj, rate() - leak_pj);
  }

 private:
  const double latency_;
  const Margins margins_;
};

}  // namespace orrery::nest
