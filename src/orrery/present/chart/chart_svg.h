// A chart as it is read without scripts.
#pragma once

#include <string>

#include "orrery/present/chart/chart.h"

namespace orrery::verbs {

// An `<svg>` for a page: its colours are the page's (`--c0`, `--ink`, ...), its words escaped, its title and
// description what a screen reader says.
std::string chart_svg(const Chart& chart);

}  // namespace orrery::verbs
