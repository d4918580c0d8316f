// `problem` documents into workload::Einsum.
#pragma once

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/formats/timeloop/expressions/expression_value.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

// `problem` is the value of the top-level key: `shape` (inline, or the name of a shape that Timeloop ships) and
// `instance` (older documents: the bounds beside `shape`). Bounds and coefficients may be expressions over
// `variables` and over the instance entries above them. Errors: O0400 to O0415, collected in `found`; the result is
// then unusable. Densities are read in densities.h; where they are to be ignored, they are notes here.
workload::Einsum read_problem(const yaml::Node& problem, const Scope& variables, base::Diagnostics& found,
                              bool ignore_densities = false);

}  // namespace orrery::formats::timeloop
