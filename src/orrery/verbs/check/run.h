// What files are and what is wrong with them.
#pragma once

#include <string>
#include <vector>

#include "orrery/inputs/inputs.h"

namespace orrery::verbs {

struct CheckRequest : DocumentRequest {
  std::vector<std::string> ignored;  // keys of a model's config.json to leave out of account
};

struct Checked {
  std::vector<std::string> contents;  // a line each
  base::Diagnostics warnings;
};

// Throws InputError with everything wrong in any file; IllegalMapping (evaluate_layer.h) for a mapping that cannot run.
Checked check(const CheckRequest& request);

}  // namespace orrery::verbs
