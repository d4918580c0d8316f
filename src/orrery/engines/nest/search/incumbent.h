// The best mapping that a search has found so far, and the answer that it makes of it.
//
// Here alone is said which of two mappings is better:
//
//   metrics     are compared in the order of the objective. Two that agree to kEqual (objective.h) count as equal: sums
//               of doubles taken in another order differ by less. So what is bounded by the best is dropped, too.
//   ties        go to the mapping that comes first in search order, which is the one found first unless threads share
//               the search (`place`). So answers depend neither on rounding nor on the number of threads.
//   slow ones   that take more than SearchLimits::max_cycles are no answers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "orrery/engines/nest/search/objective.h"
#include "orrery/engines/nest/search/search_rules.h"

namespace orrery::nest {

// Counters of a search, for its certificate.
struct Tally {
  std::uint64_t evaluated = 0;
  std::uint64_t unfit = 0;      // partial mappings whose tiles do not fit
  std::uint64_t bounded = 0;    // that cannot beat the best
  std::uint64_t dominated = 0;  // no better than another one with the same future

  void write(base::Certificate& certificate) const {
    certificate.evaluated = evaluated;
    certificate.pruned = {{"capacity", unfit}, {"bound", bounded}, {"dominance", dominated}};
  }
};

class Incumbent {
 public:
  static constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

  // What others must beat: copied by threads, which look at it without a lock.
  struct Mark {
    Key key{kNever, kNever, kNever};
    std::int64_t place = kLast;  // in search order
  };

  // `beat`: only mappings better than this are wanted; null: all are. Borrows the objective.
  Incumbent(const std::vector<Metric>& objective, base::Count max_cycles, const Evaluation* beat)
      : objective_(objective), max_cycles_(static_cast<double>(max_cycles)) {
    if (!beat) return;
    mark_ = {key_of(objective, *beat), std::numeric_limits<std::int64_t>::min()};
    evaluation_ = *beat;
  }
  Incumbent(const std::vector<Metric>& objective, const SearchRules& rules)
      : Incumbent(objective, rules.max_cycles, rules.beat) {}

  const std::vector<Metric>& objective() const { return objective_; }
  const Mark& mark() const { return mark_; }
  const Key& best() const { return mark_.key; }
  const std::optional<Mapping>& mapping() const { return mapping_; }
  const Evaluation& evaluation() const { return evaluation_; }  // without a mapping: what is to be beaten

  bool too_many_cycles(const Evaluation& found) const { return max_cycles_ > 0 && found.needed_cycles() > max_cycles_; }

  // Whether nothing that costs so much at least can be better.
  bool drop(const Key& bound) const { return compare(bound, mark_.key, objective_.size()) >= 0; }

  // Takes the mapping if it is better than all before.
  bool offer(const Mapping& mapping, const Evaluation& found, std::int64_t place = kLast) {
    if (too_many_cycles(found)) return false;
    const Key key = key_of(objective_, found);
    const int order = compare(key, mark_.key, objective_.size());
    if (order > 0 || (order == 0 && place >= mark_.place)) return false;
    mark_ = {key, place};
    mapping_ = mapping;
    evaluation_ = found;
    return true;
  }

  // Ends the search. `finished`: all that may be better was looked at; `open`: nothing that was not is below it in the
  // first metric.
  Optimum answer(bool finished, double open) {
    Optimum optimum;
    optimum.certificate.lower_bound = std::min(mark_.key[0], open);
    optimum.certificate.optimal = finished && mapping_;
    optimum.infeasible = finished && !mapping_;
    if (!mapping_) return optimum;
    optimum.mapping = std::move(mapping_);
    optimum.evaluation = std::move(evaluation_);
    return optimum;
  }

 protected:
  const std::vector<Metric>& objective_;
  const double max_cycles_;  // 0: any number

 private:
  Mark mark_;
  std::optional<Mapping> mapping_;
  Evaluation evaluation_;
};

}  // namespace orrery::nest
