// Why a layer has no mapping, as a diagnostic.
#pragma once

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/inputs/layers/map_model.h"

namespace orrery::verbs {

// For a layer without a mapping: O1001 with the place of each conflicting line and the arithmetic when that is
// proven, O1002 when the search ended before it found one.
base::Diagnostic explain_no_mapping(const MappedLayer& layer);

// The same for the choice that `--why` forces: needs `layer.forced`, without a mapping of its own.
base::Diagnostic explain_no_forced_mapping(const MappedLayer& layer);

}  // namespace orrery::verbs
