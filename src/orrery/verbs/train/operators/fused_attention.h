// What a run saves where its chip runs attention as one operator in forward passes (inputs/systems/chip_attention.h).
#pragma once

#include <vector>

#include "orrery/describe/machine/operator_model.h"
#include "orrery/engines/cluster/model/evaluate.h"
#include "orrery/inputs/systems/chip_operators.h"
#include "orrery/verbs/train/operators/run_operators.h"

namespace orrery::verbs {

struct FusedAttention {
  double apart_s = 0;  // an iteration without
  // Attention in the forward passes of an iteration, those that are done again among them, one rank of every stage
  // taken together; and without.
  double forward_s = 0, forward_apart_s = 0;
  std::vector<AskedAttention> asked;

  bool searched() const;  // false: a limit ended the search of one
};

// `listed`: the run's operators. Two evaluations more.
FusedAttention fused_attention(const cluster::Model& model, const cluster::System& system, const cluster::Plan& plan,
                               const machine::OperatorModel& operators, const ChipOperators& nests,
                               const std::vector<RunOperator>& listed);

}  // namespace orrery::verbs
