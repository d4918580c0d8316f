// The plan that the rule of thumb of Megatron-LM's authors gives, to hold a searched one against.
#pragma once

#include <optional>
#include <string>

#include "orrery/describe/machine/operator_model.h"
#include "orrery/engines/cluster/model/model.h"
#include "orrery/engines/cluster/model/system.h"
#include "orrery/engines/cluster/search/incumbents.h"

namespace orrery::verbs {

struct UsualPlan {
  std::string rule;  // in words, with its source
  cluster::Candidate found;
};

// As large a model-parallel group as fits and no larger: tensor ranks within a node first, then pipeline stages, the
// rest data parallel; one sequence a microbatch, one chunk a stage (Narayanan et al. 2021, arXiv 2104.04473, takeaways
// 1 and 2). `margin` bytes of an accelerator stay free. What the rule does not say is as in `best`. Nothing for
// software of another kind, for mixtures of experts, and where nothing that the rule gives is possible.
std::optional<UsualPlan> usual_plan(const cluster::Model& model, const cluster::System& system,
                                    const cluster::Plan& best, double margin, const machine::OperatorModel& operators);

}  // namespace orrery::verbs
