// A placement, from what the user said to its times: DFModel's setup file becomes a question, the dataflow engine
// answers it, and what cannot be placed is explained with the lines it came from.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/text/override.h"
#include "orrery/engines/dataflow/search/optimize.h"
#include "orrery/verbs/place/answer.h"
#include "orrery/verbs/place/request.h"

namespace orrery::verbs {

// Reads it; throws what place() throws before it searches. Neither a chip nor measurements are looked at.
PlaceQuestion read_place(const PlaceRequest& request);

// Throws InputError for what the reader and the engine refuse, O1465 where neither a setup nor a model is given or
// both, O1393 for overrides of what the system or the chip says, and what place_model says. A setup that nothing fits
// is an answer, not an error.
PlacedGraph place(const PlaceRequest& request);

CheckedSetup check_setup(const std::string& path, const base::Overrides& overrides = {});

// Why there is no placement: what is contradictory, or O1461 where the search ended before it knew.
std::vector<base::Diagnostic> explain_no_placement(const PlacedGraph& placed);

}  // namespace orrery::verbs
