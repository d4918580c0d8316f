// What `tune select` prints: the chosen layouts, operator by operator, what is proven, what other searches lose.
#pragma once

#include <string>

#include "orrery/verbs/tune/select/run.h"

namespace orrery::verbs {

std::string select_table(const TunedSelection& answer);

}  // namespace orrery::verbs
