// What a candidate must beat, as combined limits on energy and cycles.
//
// Bounds are pairs: energy of at least e, cycles of at least d. For energy x delay a third helps where a
// bandwidth binds, since little energy and few cycles then exclude each other: with weights on the loads that
// sum to mu, every mapping has E + mu D >= S (S: least energy plus weighted loads, Lagrange). The product
// (E + P D)(D + latency), P the leakage per cycle, is concave along the line E = S - mu D when mu >= P, so
// over the region it is least in one of two corners.
#pragma once

#include <vector>

#include "orrery/engines/nest/model/evaluation.h"
#include "orrery/engines/nest/search/objective.h"
#include "orrery/engines/nest/search/search.h"

namespace orrery::nest::lattice {

class Goal {
 public:
  // `latency`: cycles added to every mapping's, which are a whole number without it, too.
  Goal(const std::vector<Metric>& objective, double max_cycles, double latency);

  const Key& best() const { return best_; }
  // Records an answer; false when it is not better.
  bool improve(const Key& found, double energy_pj, double cycles);

  // `leak_pj` per cycle comes on top of `energy_pj`; `active` cycles are those without latency, at least.
  Key key(double energy_pj, double active, double leak_pj) const;
  bool drop(const Key& bound) const { return compare(bound, best_, objective_.size()) >= 0; }
  bool drop(double energy_pj, double active, double leak_pj) const { return drop(key(energy_pj, active, leak_pj)); }

  // Whether all candidates with bounds from `bound` on, in rising order, can be dropped. Metrics that differ by
  // rounding only may come in either order, so a later bound may be better by the next metric.
  bool drop_from(const Key& bound) const {
    return drop(bound) && (objective_.size() == 1 || bound[0] > best_[0] * (1 + 16 * kEqual));
  }

  // The same with E + mu D >= together_pj besides; mu as of exchange().
  Key key(double energy_pj, double active, double leak_pj, double together_pj, double mu) const;

  // False where only cycles decide.
  bool energy_counts() const { return objective_.size() > 1 || objective_[0] != Metric::kDelay; }

  // Most active cycles of a mapping of at least so much energy that can still be better.
  double ceiling(double energy_pj, double leak_pj) const;
  // Most energy, leakage apart, of a mapping of at least so many active cycles that can still be better.
  double energy_ceiling(double active, double leak_pj) const;
  // mu, the energy that a cycle is worth at the best answer; 0 where energy and cycles are not traded.
  double exchange(double leak_pj) const;

 private:
  const std::vector<Metric>& objective_;
  double max_cycles_, latency_;
  Key best_;
  double best_energy_pj_ = kNever, best_cycles_ = kNever;
};

}  // namespace orrery::nest::lattice
