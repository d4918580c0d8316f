// A chart as a Vega 5 specification.
#pragma once

#include <string>

#include "orrery/present/chart/chart.h"
#include "orrery/present/json_value.h"

namespace orrery::verbs {

// Whole by itself, in the colours of a light ground.
Json chart_vega(const Chart& chart);
// Vega's `config` for a ground: colours of series, words and lines.
Json chart_colours(bool dark);
// Without blanks between tokens, and with `<` escaped: what may stand in a page's script.
std::string script_text(const Json& json);

}  // namespace orrery::verbs
