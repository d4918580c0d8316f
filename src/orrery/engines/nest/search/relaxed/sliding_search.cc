// Convolution windows overlap, so a dimension can be partly relevant and the closed form's order classes
// do not apply. The space is enumerated, each mapping evaluated by the general recursion, within the
// budget; the bound is that of the compulsory work alone (floor.h). Where the budget is spent first, the answer is the
// better of the best so far and a quick mapping (start.h).
#include "orrery/engines/nest/search/relaxed/sliding_search.h"

#include <algorithm>
#include <new>

#include "orrery/engines/nest/search/enumerate.h"
#include "orrery/engines/nest/search/floor.h"
#include "orrery/engines/nest/search/objective.h"
#include "orrery/engines/nest/search/start.h"
#include "orrery/engines/nest/space/feasibility.h"

namespace orrery::nest {
namespace {

// The share of the time reserved for the quick mapping, which comes last.
constexpr double kForStart = 1.0 / 8;

}  // namespace

Optimum optimize_sliding(const Model& model, const Space& space, const std::vector<Metric>& objective,
                         const SearchLimits& limits, const base::Budget& budget) {
  Optimum optimum;
  Key best{kNever, kNever, kNever};
  Evaluation evaluation;
  bool finished = false;
  try {
    const base::Budget most(budget, budget.seconds_left() * (1 - kForStart));
    const Feasible any = feasible(model.einsum(), space, most);
    finished = any == Feasible::kNo;
    if (any != Feasible::kNo)
      finished = enumerate(
          model.einsum(), space,
          [&](const Mapping& mapping) {
            ++optimum.certificate.evaluated;
            model.evaluate(mapping, evaluation);
            const Key values = key_of(objective, evaluation);
            const bool in_time = limits.max_cycles == 0 || evaluation.cycles <= limits.max_cycles;
            if (in_time && values < best) {
              best = values;
              optimum.mapping = mapping;
              optimum.evaluation = evaluation;
            }
            return true;
          },
          most);
  } catch (const std::bad_alloc&) {
    budget.run_out_of_memory();
  }
  if (!finished) {
    const auto quick = start(model, space, objective, limits.max_cycles, budget);
    if (quick && quick->key < best) {
      best = quick->key;
      optimum.mapping = quick->mapping;
      optimum.evaluation = quick->evaluation;
    }
  }
  base::Certificate& certificate = optimum.certificate;
  certificate.optimal = finished && optimum.mapping;
  certificate.lower_bound = finished ? best[0] : floor_of(model, space, objective[0]);
  optimum.infeasible = finished && !optimum.mapping;
  return optimum;
}

}  // namespace orrery::nest
