// What a search over plans found, as text.
#pragma once

#include <string>

#include "orrery/verbs/train/run.h"

namespace orrery::verbs {

std::string metric_name(cluster::Metric metric);

// "tp 8, pp 4, dp 16": the degrees of a plan and what else it chose, in one line without its end.
std::string plan_line(const cluster::Model& model, const cluster::Plan& plan);

// Of it, what is computed again: ", selective recomputation (core, norms)", or nothing.
std::string recomputation(const cluster::Plan& plan);

// Of it, what few plans choose: hybrid sharding, whole experts, what is offloaded.
std::string further_choices(const cluster::Model& model, const cluster::Plan& plan);

// The answer as options: `--tp 8 --pp 4 ...`, from which `train` evaluates the very plan.
std::string plan_options(const cluster::Plan& plan, bool mixes, bool stack_given);

// What was proven and of how many plans, runners-up or front, what a forced choice costs by cause, the map. Empty where
// nothing was searched.
std::string search_view(const TrainedModel& trained);

}  // namespace orrery::verbs
