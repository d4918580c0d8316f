// `mapper` documents: what of them still means something to an exact search.
#pragma once

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/timeloop/documents/documents.h"
#include "orrery/formats/timeloop/expressions/expression_value.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

// Reads the objective (`optimization_metrics`, also in the singular) and `num_threads`. How long and in which order
// Timeloop samples (`algorithm`, `timeout`, `victory_condition`, ...) does not matter here and is accepted silently;
// other keys are warned about (O0802). Errors: O0800, O0801, O0803, O0804.
MapperOptions read_mapper(const yaml::Node& mapper, const Scope& variables, base::Diagnostics& found);

}  // namespace orrery::formats::timeloop
