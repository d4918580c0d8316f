// What mappings are compared by, the best one so far, and what it leaves to others.
#pragma once

#include <optional>
#include <vector>

#include "orrery/engines/nest/search/objective.h"
#include "orrery/engines/nest/search/search_rules.h"
#include "orrery/engines/nest/search/start.h"
#include "orrery/engines/nest/search/tiles/tile_chains.h"
#include "orrery/engines/nest/search/tiles/tile_problem.h"

namespace orrery::nest::tiles {

class Goal {
 public:
  Goal(const Problem& problem, const std::vector<Metric>& objective, const SearchRules& limits);

  const std::vector<Metric>& objective() const { return objective_; }
  Metric first() const { return objective_[0]; }
  const Key& best() const { return best_; }
  std::optional<Mapping>& mapping() { return mapping_; }
  Evaluation& evaluation() { return evaluation_; }

  // Evaluates a mapping, and takes it if it is the best.
  Key offer(const Mapping& mapping);
  void offer(const std::optional<Start>& start);

  Key key(double energy_pj, double active) const { return key_of(objective_, energy_pj, active + problem_.latency); }
  // Of so much energy and load at least.
  Key key_of_least(const Least& least) const;
  // No pair of energy and active cycles can come below this, given at least so much of each, and of energy + rate *
  // cycles.
  Key least_key(const Prices& prices, double energy_pj, double active, double together, double rate) const;

  bool drop(const Key& bound) const { return compare(bound, best_, objective_.size()) >= 0; }
  bool too_slow(double active) const;
  Wanted wanted() const;

  // Of better mappings: how much energy they may take, leakage aside, if they are active for so many cycles at least;
  // how many cycles, if they take so much energy at least; how much of energy + rate() * cycles.
  double most_energy_pj(const Prices& prices, double active) const;
  double most_active(const Prices& prices, double energy_pj) const {
    return most_active(prices.leak_pj_per_cycle(), energy_pj);
  }
  double most_active(double leak, double energy_pj) const;
  double most_together(const Prices& prices, double energy_pj, double active) const;
  // Energy of a cycle at the best answer.
  double rate() const { return evaluation_.energy_pj / evaluation_.needed_cycles(); }

 private:
  double at_the_edge(double most) const;

  const Problem& problem_;
  const std::vector<Metric>& objective_;
  const SearchRules& limits_;
  Key best_;
  std::optional<Mapping> mapping_;
  Evaluation evaluation_, next_;
};

}  // namespace orrery::nest::tiles
