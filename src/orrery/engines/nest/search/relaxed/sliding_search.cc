// Convolution windows overlap, so a dimension can be partly relevant and the closed form's order classes
// do not apply. The space is enumerated within the budget, each mapping evaluated by the general recursion, and
// partial_bound.h prunes it; without a proof the bound is that of the compulsory work alone. Where the budget is spent
// first, the answer is the better of the best so far and a quick mapping (initial_solution.h).
#include "orrery/engines/nest/search/relaxed/sliding_search.h"

#include <new>

#include "orrery/engines/nest/search/initial_solution.h"
#include "orrery/engines/nest/search/relaxed/relaxed_search.h"
#include "orrery/engines/nest/space/feasibility.h"

namespace orrery::nest {
namespace {

// The share of the time reserved for the quick mapping, which comes last.
constexpr double kForStart = 1.0 / 8;

class SlidingSearch : private RelaxedSearch {
 public:
  SlidingSearch(const Model& model, const Mapspace& any, const Space& space, const std::vector<Metric>& objective,
                const SearchRules& rules, const base::Budget& budget)
      : RelaxedSearch(model, model.chip(), any, space, objective, rules, budget) {
    partial_.emplace(model, space);
  }

  Optimum run() {
    bool finished = false;
    try {
      const base::Budget most(budget_, budget_.seconds_left() * (1 - kForStart));
      finished = feasible(model_.einsum(), space_, most) == Feasible::kNo;
      finished = finished || enumerate_all({}, most);
    } catch (const std::bad_alloc&) {
      budget_.run_out_of_memory();
    }
    const std::vector<Metric>& objective = incumbent_.objective();
    if (!finished)
      if (const auto quick = initial_solution(model_, space_, objective, rules_.max_cycles, budget_))
        incumbent_.offer(quick->mapping, quick->evaluation);
    return answer(finished, finished ? kNever : partial_->least(objective)[0]);
  }

 private:
  const Evaluation* price(const Mapping& mapping) override {
    model_.evaluate(mapping, scratch_);
    return &scratch_;
  }

  Evaluation scratch_;
};

}  // namespace

Optimum optimize_sliding(const Model& model, const Space& space, const std::vector<Metric>& objective,
                         const SearchRules& rules, const base::Budget& budget) {
  const Mapspace all;  // the space is listed by it already
  return SlidingSearch(model, all, space, objective, rules, budget).run();
}

}  // namespace orrery::nest
