// Times that an operator model gave, stated in a setup.
#pragma once

#include "orrery/engines/dataflow/model/evaluate.h"

namespace orrery::dataflow {

// States the rate of every kernel (`compute_util`), so that evaluate() of `setup` and `mapping` says without
// `operators` what it says with them: `partition`. `setup` is at a given utilisation and states no kernel's rate so
// far.
void state_times(Setup& setup, const Mapping& mapping, const PartitionCost& partition, const Defects& defects,
                 const machine::OperatorModel& operators);

}  // namespace orrery::dataflow
