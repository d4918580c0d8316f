// Best plans beside published recipes, as text and as JSON.
#pragma once

#include <string>

#include "orrery/present/answer.h"
#include "orrery/verbs/validate/optima.h"

namespace orrery::verbs {

// The recipes, the greatest ratio first, and a line for each software.
std::string optima_table(const FoundOptima& found);

// The JSON document, schema "orrery.validate_optima/1".
Document<FoundOptima> validate_optima_document();

}  // namespace orrery::verbs
