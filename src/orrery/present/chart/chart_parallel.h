// Parallel coordinates: an axis a field, a line a point.
#pragma once

#include <string>

#include "orrery/present/chart/chart.h"
#include "orrery/present/json_value.h"

namespace orrery::verbs {

std::string parallel_svg(const Chart& chart);
// Sizes, scales, axes and marks of a Vega specification whose data `values` has a row a point, with its `shares`.
void add_parallel(const Chart& chart, Json& spec);

}  // namespace orrery::verbs
