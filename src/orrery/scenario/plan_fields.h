// `--set plan.overlap.dp=1`: fields of a plan by their path, read from text.
#pragma once

#include <string>

#include "orrery/base/diagnostic.h"
#include "orrery/cluster/plan.h"

namespace orrery::scenario {

// Sets the field `name` ("tp", "overlap.dp"); false, with O1371 in `found`, where there is none such or it cannot take
// `value`. Truths are "true" and "false", choices go by the names that the options use. The schedule `interleaved`
// leaves the chunks of a stage as they are.
bool set_plan_field(cluster::Plan& plan, const std::string& name, const std::string& value, base::Diagnostics& found);

}  // namespace orrery::scenario
