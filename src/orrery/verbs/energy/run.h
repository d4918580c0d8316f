// Energy and area of a chip's components by their descriptions: the documents flattened, every class asked of the
// estimators, nothing searched.
#pragma once

#include "orrery/inputs/inputs.h"
#include "orrery/verbs/energy/answer.h"

namespace orrery::verbs {

// Problems, mappings and an ERT among the files are left aside. Throws InputError: O1103 without files or chips, O1003
// without an architecture, O0610 for a chip that comes with its ERT and without what estimates need, and what the
// readers and estimators refuse.
EstimatedChip estimate_chip(const DocumentRequest& request);

}  // namespace orrery::verbs
