// Plans as files: one as YAML, `plan:` with a field a line; several as CSV, a column a field.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/engines/cluster/model/plan.h"
#include "orrery/verbs/train/plans/plan_question.h"

namespace orrery::verbs {

// Every field of cluster::fields(plan).
std::string plan_text(const cluster::Plan& plan);

// The plans of a search with their figures, as `train --plans` writes them.
std::string plans_csv(const PlanAnswer& answer);

// Sets the fields that the file gives and returns their paths; `microbatches`, which follows from others, is passed
// over. YAML, or a JSON document of `train`, whose `result.plan` counts. Throws InputError: O1945 for what is no field
// of a plan or no value of one, each at its place.
std::set<std::string> read_plan(const std::string& path, cluster::Plan& plan, base::Input& read);

}  // namespace orrery::verbs
