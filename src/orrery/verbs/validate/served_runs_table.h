// Predicted against measured runs of engines that serve, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "orrery/present/answer.h"
#include "orrery/verbs/validate/served_runs.h"

namespace orrery::verbs {

// A row for each set and figure: rows of the source, of the table and predicted; errors of the held-out ones. Then what
// was left out, and why.
std::string served_summary(const std::vector<ServedSet>& sets);

// The points of a set, worst first, at most `most` of them (0: all).
std::string served_points(const ServedSet& set, std::size_t most);

// The JSON document, schema "orrery.validate_serve/1", with every point.
Document<std::vector<ServedSet>> validate_serve_document();

}  // namespace orrery::verbs
