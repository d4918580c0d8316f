// What `check` is asked.
#pragma once

#include <string>
#include <vector>

#include "orrery/inputs/inputs.h"

namespace orrery::verbs {

struct CheckRequest : DocumentRequest {
  std::vector<std::string> ignored;  // keys of a model's config.json to leave out of account
};

}  // namespace orrery::verbs
