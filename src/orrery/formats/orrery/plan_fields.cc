#include "orrery/formats/orrery/plan_fields.h"

#include <fmt/format.h>

#include "orrery/engines/cluster/model/fields.h"
#include "orrery/engines/cluster/model/supported_features.h"
#include "orrery/formats/orrery/stacks.h"

namespace orrery::formats::orrery {

bool set_plan_field(cluster::Plan& plan, const base::Fields& known, const base::Override& set,
                    base::Diagnostics& found) {
  if (set.path == "stack") return true;  // named_stack has read it
  const base::OverrideText shown(set, "plan.");
  const bool of_software = set.path.starts_with("stack.runs.");
  const base::Fields features = of_software ? cluster::feature_fields(plan.stack) : base::Fields();
  const base::Field* field = base::asked_field(of_software ? features : known, set, shown, "O1371", "a plan", found);
  if (!field) return false;
  if (field->set(set.value)) return true;
  found.error("O1371", fmt::format("`plan.{}` cannot be `{}`", set.path, set.value), shown.value())
      .label("it is " + field->values);
  return false;
}

std::optional<cluster::Stack> named_stack(const base::Overrides& overrides, const std::string& directory) {
  for (auto set = overrides.rbegin(); set != overrides.rend(); ++set)
    if (set->path == "stack") return load_stack(directory, set->value).stack;
  return std::nullopt;
}

void take_stack(const cluster::Stack& stack, cluster::Plan& plan) {
  plan.stack = stack;
  plan.overlap = stack.overlap;
}

}  // namespace orrery::formats::orrery
