// Prompts and decoding apart: one pool of replicas reads prompts, another one goes on with their keys and values.
#pragma once

#include "orrery/engines/serving/model/evaluate.h"

namespace orrery::serving {

struct Pools {
  Deployment prompts, decoding;
  base::Count accelerators() const { return prompts.accelerators() + decoding.accelerators(); }
};

// Seconds in which keys, values and states of a prompt go from a replica of the one pool to one of the other: over the
// links of as many ranks as the smaller has, inside a node where both pools stand in one.
double transfer_seconds(const ServedModel& model, const cluster::System& system, const Pools& pools,
                        base::Count prompt);

// The same as evaluate() of one deployment; `memory`, `running`, `occupancy` and `step` are the decoding pool's. All
// are checked.
Service evaluate(const ServedModel& model, const cluster::System& system, const Pools& pools, const Load& load,
                 const machine::OperatorModel& operators);

}  // namespace orrery::serving
