// What a plan leaves open, chosen: by a search over plans, or the smallest degrees that fit.
#pragma once

#include "orrery/verbs/train/setting.h"

namespace orrery::verbs {

// Throws InputError as train() does, for plans that are not possible.
void choose_plan(Setting& setting);

}  // namespace orrery::verbs
