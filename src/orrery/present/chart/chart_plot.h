// A chart of points in characters: lines in dots of Braille, points as letters.
#pragma once

#include <cstddef>
#include <string>

#include "orrery/present/chart/chart.h"

namespace orrery::verbs {

// At most `width` characters wide; "" of other charts. `colour`: series in the terminal's colours.
std::string chart_plot(const Chart& chart, std::size_t width, bool colour);

}  // namespace orrery::verbs
