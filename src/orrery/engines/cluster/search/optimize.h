// optimize(model, system, space, objective, limits): the best plan, with proof. space.h says which plans there are,
// objective.h what is least; groups of plans are gone through in the order of their bounds (groups.h, walk.h) after
// initial plans (initial_plans.h). plan_conflict.h says why none is allowed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/base/limits/certificate.h"
#include "orrery/describe/machine/operator_model.h"
#include "orrery/engines/cluster/search/incumbents.h"
#include "orrery/engines/cluster/search/objective.h"
#include "orrery/engines/cluster/search/space.h"

namespace orrery::cluster {

struct SearchOptions {
  std::size_t top = 1;                                      // so many of the best plans
  bool cells = false;                                       // the best plan of every (tp, pp) instead
  bool any = false;                                         // ends at the first plan that is within the limits
  bool enumerate = false;                                   // without bounds: every plan is evaluated
  int threads = 1;                                          // change the time only
  std::function<void(double best, double bound)> progress;  // of the first metric, now and then
};

struct Optimum {
  std::vector<Candidate> best;    // in order; empty: nothing is within the limits
  base::Certificate certificate;  // of the first metric of the objective
  bool finished = true;           // false: the budget was spent; the best so far, with its gap
};

// Every plan of the space that is possible() and within the limits has a score, the values of `objective.all()`; less
// of the first that differs is better, and of equal scores the plan that comes_before() the others. The value of a plan
// is what evaluate() says of it. The answer does not depend on `threads`.
Optimum optimize(const Model& model, const System& system, const Space& space, const Objective& objective,
                 const PlanLimits& limits, const machine::OperatorModel& operators, const base::Budget& budget,
                 const SearchOptions& options = {});

}  // namespace orrery::cluster
