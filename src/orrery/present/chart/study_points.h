// Every point of a study as data of a page, from which its script makes the page of a point: fields, figures, layers.
#pragma once

#include <string>

#include "orrery/present/chart/chart.h"

namespace orrery::verbs {

// A script element with this id; "" where the result has no points. Figures are as tables show them. Of very many
// layers those of each so many points are there, and of `pareto`; the data says of how many.
std::string study_points_html(const Node& result, const std::string& id);

}  // namespace orrery::verbs
