// What a model is, for people.
#pragma once

#include <string>

#include "orrery/inputs/catalogue/model_facts.h"

namespace orrery::verbs {

std::string facts_table(const ModelFacts& facts);

}  // namespace orrery::verbs
