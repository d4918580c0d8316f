// Degrees of parallelism that the user left open: the smallest that fit.
#pragma once

#include "orrery/base/limits/budget.h"
#include "orrery/base/numbers/count.h"
#include "orrery/engines/cluster/model/model.h"
#include "orrery/engines/cluster/model/plan.h"
#include "orrery/engines/cluster/model/system.h"

namespace orrery::verbs {

// What was said; the rest is open.
struct GivenDegrees {
  bool gpus = false;
  bool tp = false, pp = false, dp = false, ep = false, cp = false;
};

struct ChosenDegrees {
  cluster::Plan plan;
  bool possible = false;  // cluster::possible(plan)
  bool fits = false;      // into the accelerators' memory
  base::Count tried = 0;  // possible choices looked at, this one included
  bool all = true;        // false: the budget was spent before all were looked at
};

// Fills the open degrees of `plan`. Of the choices that are possible and fit, the one that splits a replica of the
// model over the fewest accelerators; of these the one with the least expert, then context parallelism; then as much
// tensor parallelism as a node holds. Where none fits, the one that lacks the least memory; where none is possible,
// open degrees are 1 and dp takes what remains of the accelerators. Where the budget is spent, of those looked at; else
// the same for any number of `threads` (0: as many as the machine has).
ChosenDegrees choose_degrees(const cluster::Model& model, const cluster::System& system, cluster::Plan plan,
                             const GivenDegrees& given, const base::Budget& budget = {}, int threads = 1);

}  // namespace orrery::verbs
