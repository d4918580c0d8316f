// What `serve` prints.
#pragma once

#include <string>

#include "orrery/verbs/serve/answer.h"

namespace orrery::verbs {

std::string serve_table(const ServedAnswer& answer);

}  // namespace orrery::verbs
