// The only physics of the engine: time, memory and utilisation of one training iteration.
#pragma once

#include "orrery/describe/machine/operator_model.h"
#include "orrery/engines/cluster/model/iteration.h"
#include "orrery/engines/cluster/model/model.h"
#include "orrery/engines/cluster/model/plan.h"
#include "orrery/engines/cluster/model/system.h"

namespace orrery::cluster {

// Pure, thread-safe, without allocation; about a microsecond with a Roofline. `model` must be prepared() and the plan
// possible(), which searches ask first; an impossible plan fails an ORRERY_CHECK.
Iteration evaluate(const Model& model, const System& system, const Plan& plan, const machine::OperatorModel& operators);

// Seconds to train on `tokens` tokens at the rate of `iteration`.
double seconds_to_train(const Iteration& iteration, double tokens);

}  // namespace orrery::cluster
