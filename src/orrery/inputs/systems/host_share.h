// How much of an iteration the host costs that issues the operators.
#pragma once

#include "orrery/describe/machine/operator_model.h"
#include "orrery/engines/cluster/model/model.h"
#include "orrery/engines/cluster/model/plan.h"
#include "orrery/engines/cluster/model/system.h"

namespace orrery::verbs {

// By what share an iteration of `iteration_s` would be shorter if the host issued operators in no time, all else equal.
double host_share(const cluster::Model& model, const cluster::System& system, const cluster::Plan& plan,
                  double iteration_s, const machine::OperatorModel& operators);

}  // namespace orrery::verbs
