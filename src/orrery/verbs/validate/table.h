// Predicted against measured, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "orrery/present/answer.h"
#include "orrery/verbs/validate/run.h"

namespace orrery::verbs {

// "t8 p16 d4 b1 v3 full sp": what tells the points of a set apart.
std::string short_plan(const cluster::Plan& plan);

// One row a set: held-out points, mean absolute, median, bias and worst error in percent, and the same of fitted
// points.
std::string validation_summary(const std::vector<ValidatedSet>& sets);

// One row a group of the runs of all sets (error_groups.h), and what a constant utilisation makes of it.
std::string validation_groups(const std::vector<ValidatedSet>& sets);

// The points of a set, worst first, at most `most` of them (0: all), with what is left out.
std::string validation_points(const ValidatedSet& set, std::size_t most);

// The JSON document, schema "orrery.validate/1", with every point.
Document<std::vector<ValidatedSet>> validate_document();

}  // namespace orrery::verbs
