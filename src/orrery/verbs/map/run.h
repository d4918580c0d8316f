// The best mappings on a chip, from names and files to answers.
#pragma once

#include "orrery/verbs/map/answer.h"
#include "orrery/verbs/map/request.h"

namespace orrery::verbs {

// Throws InputError: O1103 for requests that make no question, O1106 where no layer is called as the one wanted, O0938
// for ONNX models without products, O2010 for an array beside something other than a prefill of a model with attention,
// O1905 and O2012 for one that cannot be counted, and what the readers and the search refuse. Layers that cannot be
// mapped are an answer.
MapAnswer map(const MapRequest& request);

}  // namespace orrery::verbs
