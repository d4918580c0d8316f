// `--set plan.overlap.dp=1`: fields of a plan by their path, read from text.
#pragma once

#include <optional>
#include <string>

#include "orrery/base/text/field.h"
#include "orrery/base/text/override.h"
#include "orrery/engines/cluster/model/plan.h"

namespace orrery::formats::orrery {

// Sets one of `known`, which is `cluster::fields(plan)`, or a feature of its software; false, with O1371 in `found`,
// where there is none such or it cannot have the value. The path has no `plan.` before it.
bool set_plan_field(cluster::Plan& plan, const base::Fields& known, const base::Override& set,
                    base::Diagnostics& found);

// The stack that `overrides` name by the path `stack`; nothing where they name none. Throws what load_stack throws.
std::optional<cluster::Stack> named_stack(const base::Overrides& overrides, const std::string& directory);

// Makes `stack` the plan's software, with what it overlaps.
void take_stack(const cluster::Stack& stack, cluster::Plan& plan);

}  // namespace orrery::formats::orrery
