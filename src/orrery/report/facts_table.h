// What a model is, for people.
#pragma once

#include <string>

#include "orrery/scenario/model_facts.h"

namespace orrery::report {

std::string facts_table(const scenario::ModelFacts& facts);

}  // namespace orrery::report
