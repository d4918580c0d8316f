// A layer's plan in JSON, where it is made and where it is run by.
#pragma once

#include "orrery/report/record.h"
#include "orrery/scenario/layer_plan.h"

namespace orrery::report {

Record<scenario::LayerPlan> layer_plan();

}  // namespace orrery::report
