// What of a plan its software has to be able to do. Each stack of the catalogue says which of these it can, with the
// source; a search proposes no plan that needs another one, and people are warned of plans of their own that do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/text/field.h"
#include "orrery/engines/cluster/model/decision_variables.h"
#include "orrery/engines/cluster/model/model.h"
#include "orrery/engines/cluster/model/plan.h"

namespace orrery::cluster {

using Features = std::uint64_t;  // a set, by their places in features()

struct Feature {
  const char* name;                 // "zero_bubble"
  const char* text;                 // "the zero-bubble schedule"
  std::vector<Variable> variables;  // that choose it; a search keeps to the software unless all of them are given
  bool (*needed)(const Model&, const Plan&);
};

const std::vector<Feature>& features();

// Those of `among` that the plan needs.
Features needed(const Model& model, const Plan& plan, Features among);
// Whether the plan needs none of these.
bool runs_without(const Model& model, const Plan& plan, Features lacking);

Features feature(const char* name);

// A truth each, for stacks' files and `--set plan.stack.runs.NAME`: "runs.zero_bubble".
base::Fields feature_fields(Stack& stack);

}  // namespace orrery::cluster
