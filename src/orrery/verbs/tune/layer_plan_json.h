// A layer in JSON: its sizes, and its plan, where that is made and where it is run by.
#pragma once

#include "orrery/present/record.h"
#include "orrery/runtime/layer/shape.h"
#include "orrery/verbs/tune/layer_plan.h"

namespace orrery::verbs {

Record<layer::Shape> sizes_of_layer();
Record<LayerPlan> layer_plan();

}  // namespace orrery::verbs
