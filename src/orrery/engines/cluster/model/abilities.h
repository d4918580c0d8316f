// What of a plan its software has to be able to do. Each stack of the catalogue says which of these it can, with the
// source; a search proposes no plan that needs another one, and people are warned of plans of their own that do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/text/field.h"
#include "orrery/engines/cluster/model/model.h"
#include "orrery/engines/cluster/model/plan.h"
#include "orrery/engines/cluster/search/knobs.h"

namespace orrery::cluster {

using Abilities = std::uint32_t;  // a set, by their places in abilities()

struct Ability {
  const char* name;         // "zero_bubble"
  const char* text;         // "the zero-bubble schedule"
  std::vector<Knob> knobs;  // that choose it; a search keeps to the software unless all of them are given
  bool (*needed)(const Model&, const Plan&);
};

const std::vector<Ability>& abilities();

// Those of `among` that the plan needs.
Abilities needed(const Model& model, const Plan& plan, Abilities among);
// Whether the plan needs none of these.
bool runs_without(const Model& model, const Plan& plan, Abilities lacking);

Abilities ability(const char* name);

// A truth each, for stacks' files and `--set plan.stack.runs.NAME`: "runs.zero_bubble".
base::Fields ability_fields(Stack& stack);

}  // namespace orrery::cluster
