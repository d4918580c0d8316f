// Whether the graph and the execution of a setup describe the same workload, and which fields have no effect.
#pragma once

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/dfmodel/setup_document.h"

namespace orrery::formats::dfmodel {

// What `execution` states about the model that the graph shows otherwise: O1422, an error, with both places and the
// arithmetic; O1424, a warning, where the graph's kernels are of no known kind and may be right all the same.
void check_agreement(const SetupDocument& document, base::Diagnostics& found);

// Fields that are stated and enter nothing: O1423, a warning each.
void name_unread_fields(const SetupDocument& document, base::Diagnostics& found);

}  // namespace orrery::formats::dfmodel
