// The operators of a training run with what each costs, and what they cost together.
#pragma once

#include <optional>
#include <vector>

#include "orrery/describe/machine/operator_model.h"
#include "orrery/engines/cluster/model/iteration_operators.h"
#include "orrery/engines/cluster/model/plan.h"

namespace orrery::verbs {

struct RunOperator {
  cluster::OperatorUse use;
  machine::Cost cost;  // of one
  double seconds = 0;  // of an iteration, one rank of every stage taken together
  double share = 0;    // of all operators' seconds
};

// The longest first.
std::vector<RunOperator> run_operators(const cluster::OperatorUses& uses, const machine::OperatorModel& operators);

// Joules of an iteration on all accelerators; nothing where an operator's energy is not known. Networks, hosts and
// accelerators that wait are left out.
std::optional<double> operator_joules(const std::vector<RunOperator>& listed, const cluster::Plan& plan);

}  // namespace orrery::verbs
