// The best plan of those that a request for a training run leaves open.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/limits/budget.h"
#include "orrery/describe/machine/operator_model.h"
#include "orrery/verbs/train/run.h"

namespace orrery::verbs {

// What the system can have at most, as far as plans are searched.
base::Count most_accelerators(const cluster::System& system);

// Throws InputError where there are fewer than `gpus`: O1306, without a word on degrees that nobody gave. `open`: dp is
// one of them.
void refuse_too_many(const TrainedModel& trained, base::Count gpus, bool open);

// Whether the request leaves a plan to search: tp, pp or dp is open, or ep of a mixture of experts, or it says
// something of plans that only a search can answer. `set`: fields of the plan that a file or `--set` gives. Never where
// operators' times are themselves searched or measured, on a chip or on this machine: `slow_operators`, its name.
bool searches_plans(const TrainRequest& request, const cluster::Model& model, const std::set<std::string>& set,
                    const std::string& slow_operators);

// Throws InputError: O1940 for questions of a search where there can be none, O1942 for a choice of --why that is none,
// O1943 for a limit of dollars without a price, O1944 for goodput without failures.
void check_plan_question(const TrainRequest& request, const cluster::Model& model, const cluster::System& system,
                         const std::string& slow_operators);

// Names of what is open, in the order of variables.
std::vector<std::string> open_variables(const TrainRequest& request, const std::set<std::string>& set,
                                        const TrainedModel& trained);

// Fills `trained.plan`, `.search`, `.choices`, `.all_choices` and `.defaulted`. The plan that is given in
// `trained.plan` stays in what is not open. Where nothing is within the limits, the plan is the one that lacks the
// least of them, and `search->conflict` says why; where none is possible, the plan is as given and `choices` 0.
void search_plans(const TrainRequest& request, const std::set<std::string>& set,
                  const machine::OperatorModel& operators, const base::Limits& limits, TrainedModel& trained);

// "no plan goes with 8 accelerators and tp 4 together, of a global batch of 250"; empty where that is not known.
std::string said_conflict(const TrainedModel& trained);

// O1941: what cannot hold together, where nothing is within the limits.
base::Diagnostic explain_conflict(const TrainedModel& trained);

}  // namespace orrery::verbs
