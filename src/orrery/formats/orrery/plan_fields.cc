#include "orrery/formats/orrery/plan_fields.h"

#include <fmt/format.h>

#include "orrery/cluster/fields.h"

namespace orrery::formats::orrery {

bool set_plan_field(cluster::Plan& plan, const base::Override& set, base::Diagnostics& found) {
  const base::OverrideText shown(set, "plan.");
  const base::Fields known = cluster::fields(plan);
  const base::Field* field = base::asked_field(known, set, shown, "O1371", "a plan", found);
  if (!field) return false;
  if (field->set(set.value)) return true;
  found.error("O1371", fmt::format("`plan.{}` cannot be `{}`", set.path, set.value), shown.value())
      .label("it is " + field->values);
  return false;
}

}  // namespace orrery::formats::orrery
