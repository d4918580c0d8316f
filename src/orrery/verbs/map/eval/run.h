// The cost of the mapping that documents give.
#pragma once

#include "orrery/inputs/layers/map_model.h"
#include "orrery/verbs/map/eval/request.h"

namespace orrery::verbs {

// One layer. Throws IllegalMapping (evaluate_layer.h); InputError O1103 without files, O1107 for several problems, and
// what the readers refuse.
MappedModel evaluate(const EvaluateRequest& request);

}  // namespace orrery::verbs
