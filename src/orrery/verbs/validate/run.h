// Predictions against measured training runs: the catalogue's tables of published and measured iterations.
//
// A table is a CSV file in catalog/validation: comment lines `# title: ...`, `# source: ...`, `# licence: ...`, then
// columns
//   row       how the source counts it                      use      held-out, fitted or unverified
//   model     catalogue name                                system   catalogue name
//   measure   iteration_s, mfu, hfu, tflops_per_gpu, tokens_per_s or gpu_hours_per_trillion_tokens
//   value     what was measured (mfu and hfu in percent)    note     what the source leaves open, causes of a miss
//   model.X   a field of the model, plan.X one of the plan, as `--set` names them; an empty cell keeps the default
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/engines/cluster/model/iteration.h"
#include "orrery/engines/cluster/model/plan.h"
#include "orrery/verbs/validate/answer.h"
#include "orrery/verbs/validate/error_summary.h"

namespace orrery::verbs {

std::string_view name(Measure measure);
double predicted(const cluster::Iteration& iteration, const cluster::Plan& plan, Measure measure);

// Every table, sorted by name; `only` keeps the tables of these names. Throws InputError: O1358 for tables that cannot
// be read as such; O1359 for names that are none, with the nearest; and what models, systems and plans report.
std::vector<MeasuredSet> read_measured(const std::string& directory, const std::vector<std::string>& only = {});

// Predicts each. Throws as read_measured does, and O1358 for runs that are not possible as described.
std::vector<ValidatedSet> validate_training(const std::string& directory, const std::vector<std::string>& only = {});

}  // namespace orrery::verbs
