// A request as the options that it was made of: where they contradict `--set`, and which of them a printed plan must
// stand beside to mean the same run.
#pragma once

#include <string>

#include "orrery/base/text/override.h"
#include "orrery/verbs/train/request.h"

namespace orrery::verbs {

// O1103 for every field of `set`, paths of a plan, whose value is not the one that an option of `request` gives it:
// neither may win in silence.
void refuse_contradictions(const TrainRequest& request, const base::Overrides& set);

// What belongs to the question: " --precision fp8 --overlap dp,tp --set plan.lora_rank=8", or nothing. Model, system
// and stack are left out, and of the fields set those that a plan's own options say.
std::string asked_options(const TrainRequest& request);

}  // namespace orrery::verbs
