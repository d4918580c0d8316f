// What `tune select` prints: the chosen layouts, operator by operator, what is proven, what other searches lose.
#pragma once

#include <string>

#include "orrery/scenario/tune_select.h"

namespace orrery::report {

std::string select_table(const scenario::TunedSelection& answer);

}  // namespace orrery::report
