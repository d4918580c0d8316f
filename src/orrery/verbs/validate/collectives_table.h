// Predicted against measured collectives, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "orrery/present/answer.h"
#include "orrery/verbs/validate/collectives.h"

namespace orrery::verbs {

// One row a set: held-out points with mean absolute, median, bias and worst error in percent, the same of the large
// ones among them (mean and bias), and the fitted points.
std::string collectives_summary(const std::vector<ValidatedCollectives>& sets);

// The points of a set as its table has them, at most `most` (0: all), the worst first where some are left out.
std::string collectives_points(const ValidatedCollectives& set, std::size_t most);

// The JSON document, schema "orrery.validate_collectives/1", with every point.
Document<std::vector<ValidatedCollectives>> validate_collectives_document();

}  // namespace orrery::verbs
