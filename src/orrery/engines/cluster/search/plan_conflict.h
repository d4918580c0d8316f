// Why no plan is allowed: the smallest set of what was given and limited that cannot hold together.
#pragma once

#include <optional>
#include <vector>

#include "orrery/engines/cluster/search/optimize.h"

namespace orrery::cluster {

// What can be taken back: the values given to a variable, or the accelerators, or one of the limits, or that the
// software has to be able to run it.
struct Condition {
  enum class Kind { kVariable, kAccelerators, kMemory, kMargin, kCost, kSeconds, kSoftware };
  Kind kind = Kind::kVariable;
  Variable variable = Variable::kTp;

  bool operator==(const Condition&) const = default;
};

struct Conflict {
  std::vector<Condition> conditions;  // none of them can be left out; empty: no plan is possible at all
  bool smallest = true;               // false: the budget was spent before all smaller sets were tried
};

// `most_gpus` is what there may be where accelerators are not limited. Of several smallest sets the first, in the order
// of conditions(). The space has no plan within the limits.
Conflict conflict(const Model& model, const System& system, const Space& space, const Objective& objective,
                  const PlanLimits& limits, base::Count most_gpus, const machine::OperatorModel& operators,
                  const base::Budget& budget, int threads);

}  // namespace orrery::cluster
