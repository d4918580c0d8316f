// A training run on many accelerators: time, memory and utilisation of one iteration of a plan; the engine's only
// physics. Operators make layers (layer.h), layers stages that wait for each other (pipeline/), replicas exchange
// weights and gradients (outside.h); memory.h counts bytes, flops.h operations.
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
