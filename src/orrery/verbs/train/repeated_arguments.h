// What of a request belongs to the question, as options: a printed plan means the same run only beside these.
#pragma once

#include <string>

#include "orrery/verbs/train/run.h"

namespace orrery::verbs {

// " --precision fp8 --overlap dp,tp --set plan.lora_rank=8", or nothing. Model, system and stack are left out, and of
// the fields set those that a plan's own options say.
std::string asked_options(const TrainRequest& request);

}  // namespace orrery::verbs
