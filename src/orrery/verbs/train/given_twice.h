// What an option and `--set plan.` say differently: neither may win in silence.
#pragma once

#include "orrery/base/text/override.h"
#include "orrery/verbs/train/run.h"

namespace orrery::verbs {

// O1103 for every field of `set`, paths of a plan, whose value is not the one that an option of `request` gives it.
void refuse_given_twice(const TrainRequest& request, const base::Overrides& set);

}  // namespace orrery::verbs
