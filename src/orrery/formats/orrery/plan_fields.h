// `--set plan.overlap.dp=1`: fields of a plan by their path, read from text.
#pragma once

#include "orrery/base/override.h"
#include "orrery/cluster/plan.h"

namespace orrery::formats::orrery {

// Sets one of `cluster::fields(plan)`; false, with O1371 in `found`, where there is none such or it cannot have the
// value. The path has no `plan.` before it.
bool set_plan_field(cluster::Plan& plan, const base::Override& set, base::Diagnostics& found);

}  // namespace orrery::formats::orrery
