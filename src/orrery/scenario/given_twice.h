// What an option and `--set plan.` say differently: neither may win in silence.
#pragma once

#include "orrery/base/override.h"
#include "orrery/scenario/train.h"

namespace orrery::scenario {

// O1103 for every field of `set`, paths of a plan, whose value is not the one that an option of `request` gives it.
void refuse_given_twice(const TrainRequest& request, const base::Overrides& set);

}  // namespace orrery::scenario
