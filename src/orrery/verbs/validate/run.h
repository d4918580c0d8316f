// Predictions against measured training runs (inputs/systems/measured_runs.h).
#pragma once

#include <string>
#include <vector>

#include "orrery/verbs/validate/answer.h"
#include "orrery/verbs/validate/error_summary.h"

namespace orrery::verbs {

// Predicts each. Throws as read_measured does, and O1358 for runs that are not possible as described.
std::vector<ValidatedSet> validate_training(const std::string& directory, const std::vector<std::string>& only = {});

}  // namespace orrery::verbs
