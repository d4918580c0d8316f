// A layer's plan in JSON, where it is made and where it is run by.
#pragma once

#include "orrery/present/record.h"
#include "orrery/verbs/tune/layer_plan.h"

namespace orrery::verbs {

Record<LayerPlan> layer_plan();

}  // namespace orrery::verbs
