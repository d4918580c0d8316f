// Prompts and decoding apart: one pool of replicas reads prompts, another one goes on with their keys and values.
#pragma once

#include "orrery/engines/serving/model/evaluate.h"

namespace orrery::serving {

struct Pools {
  Deployment prompts, decoding;
  base::Count accelerators() const { return prompts.accelerators() + decoding.accelerators(); }
};

// What a pool stands on.
struct Kind {
  const cluster::System* system = nullptr;
  const machine::OperatorModel* operators = nullptr;
};
struct PoolKinds {
  Kind prompts, decoding;  // of one system: both the same
};

// Seconds in which keys, values and states of a prompt go from a replica of the one pool to one of the other: over the
// links of as many ranks as the smaller has, inside a node where both pools stand in one; of pools on different
// systems, over the outermost network of either, the slower.
double transfer_seconds(const ServedModel& model, const PoolKinds& on, const Pools& pools, base::Count prompt);

// Requests a second that either pool can serve, in proportion to its replicas; 0: the model does not fit.
struct PoolCapacities {
  double prompts = 0, decoding = 0;
};
PoolCapacities capacities(const ServedModel& model, const PoolKinds& on, const Pools& pools, const Load& load);

// The same as evaluate() of one deployment; `memory`, `running`, `occupancy` and `step` are the decoding pool's. All
// are checked.
Service evaluate(const ServedModel& model, const PoolKinds& on, const Pools& pools, const Load& load);

}  // namespace orrery::serving
