// The search for costs that no table and no partial mapping tells: words that neighbours hand on (link_search.cc),
// zeros (sparse_search.cc), windows that slide beside what the other searches know (sliding_search.cc). Each of the
// three supplies prices, and what bounds them; what is done with them is here:
//
//   - Relaxation. optimize() finds the best mapping of a cheaper problem, in which no mapping costs more. Its cost is
//     the bound, its mapping one to begin with.
//   - Local search: single changes (local_search.h) improve the best mapping; random ones (initial_solution.h) find
//     others to improve, for as long as there is time.
//   - Enumeration proves the answer. Where the model's account of what is fixed bounds the rest (partial_bound.h), most
//     mappings are passed over together. Loops in space are tried in every layout where the price may depend on it.
//
// Cost: a microsecond a mapping enumerated, up to milliseconds for each that is followed step by step.
#pragma once

#include <optional>
#include <vector>

#include "orrery/engines/nest/search/enumerate.h"
#include "orrery/engines/nest/search/incumbent.h"
#include "orrery/engines/nest/search/relaxed/partial_bound.h"
#include "orrery/engines/nest/space/space.h"

namespace orrery::nest {

class RelaxedSearch {
 public:
  RelaxedSearch(const RelaxedSearch&) = delete;
  RelaxedSearch& operator=(const RelaxedSearch&) = delete;

 protected:
  // `chip`: mappings that fit it are tried. All is borrowed.
  RelaxedSearch(const Model& model, const machine::Chip& chip, const Mapspace& mapspace, const Space& space,
                const std::vector<Metric>& objective, const SearchRules& rules, const base::Budget& budget);
  virtual ~RelaxedSearch() = default;

  // What a mapping costs; null where it does not fit after all, or is no better than the best.
  virtual const Evaluation* price(const Mapping& mapping) = 0;
  // Called after price() when the mapping is the best so far.
  virtual void taken() {}
  // Whether it is legal, perfect and allowed.
  bool runs(const Mapping& mapping) const;
  // Whether it fits and is better than all before.
  bool offer(const Mapping& mapping);
  void offer_layouts(const Mapping& mapping);
  // The best mapping by another model, of those of any speed, in a part of the time that is left.
  Optimum relaxed(const Model& model, const std::vector<Metric>& objective, double part, SearchRules rules);
  void improve();
  // From mappings that random changes find, `rounds` times, with ever more changes.
  void anneal(int rounds);
  // Whether every mapping was tried, or shown to be no better.
  bool enumerate_all(EnumerationRules rules, const base::Budget& budget);
  // `bound`: on the first metric.
  Optimum answer(bool proven, double bound);

  const Model& model_;
  const machine::Chip& chip_;
  const Mapspace& mapspace_;
  const Space& space_;
  const SearchRules& rules_;
  const base::Budget& budget_;
  Incumbent incumbent_;
  std::uint64_t evaluated_ = 0;
  std::optional<PartialBound> partial_;  // set where the price is that of the model

 private:
  int rounds_ = 0;
  bool interrupted_ = false, out_of_memory_ = false;  // while the cheaper problems were searched
};

}  // namespace orrery::nest
