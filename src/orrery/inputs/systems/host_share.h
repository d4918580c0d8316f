// How much of an iteration the host costs that issues the operators.
#pragma once

#include "orrery/describe/machine/operator_model.h"
#include "orrery/verbs/train/run.h"

namespace orrery::verbs {

// By what share the iteration of `trained` would be shorter if the host issued operators in no time, all else equal.
double host_share(const TrainedModel& trained, const machine::OperatorModel& operators);

}  // namespace orrery::verbs
