// The search for costs that no table and no partial mapping tells: words that neighbours hand on (link_search.cc),
// zeros (sparse_search.cc), windows that slide beside what the other searches know (sliding_search.cc). Each of the
// three supplies prices, and what bounds them; what is done with them is here:
//
//   - Relaxation. optimize() finds the best mapping of a cheaper problem, in which no mapping costs more. Its cost is
//     the bound, its mapping one to begin with.
//   - Local search: single changes (local_search.h) improve the best mapping.
//   - Enumeration of spaces that are small enough proves the answer. Loops in space are tried in every layout where the
//     price may depend on it.
//
// Cost: a microsecond a mapping enumerated, up to milliseconds for each that is followed step by step.
#pragma once

#include <vector>

#include "orrery/engines/nest/search/incumbent.h"
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

  // What a mapping costs; null where it does not fit after all.
  virtual const Evaluation* price(const Mapping& mapping) = 0;
  // Called after price() when the mapping is the best so far.
  virtual void taken() {}
  // Whether the mapping is worth a price.
  virtual bool promising(const Mapping&) { return true; }

  // Whether it is legal, perfect and allowed.
  bool runs(const Mapping& mapping) const;
  // Whether it fits and is better than all before.
  bool offer(const Mapping& mapping);
  void offer_layouts(const Mapping& mapping);
  // The best mapping by another model, of those of any speed, in a part of the time that is left.
  Optimum relaxed(const Model& model, const std::vector<Metric>& objective, double part, SearchRules rules);
  void improve();
  // Whether every mapping was tried. False where there are too many: each counts `effort` times. `most`: mappings that
  // are priced without a limit of time.
  bool enumerate_all(double effort, std::uint64_t most);
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

 private:
  bool interrupted_ = false, out_of_memory_ = false;  // while the cheaper problems were searched
};

}  // namespace orrery::nest
