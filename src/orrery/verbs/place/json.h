// The JSON document of `place`: schema "orrery.place/1". The keys are a contract with users' scripts.
#pragma once

#include <string>

#include "orrery/present/answer.h"
#include "orrery/verbs/place/run.h"

namespace orrery::verbs {

// Doubles round-trip exactly. All but `timing` and `certificate.seconds` is a pure function of the input. `result` is
// null where there is no placement.
Document<PlacedGraph> place_document();

}  // namespace orrery::verbs
