// What `map eval` is asked.
#pragma once

#include "orrery/inputs/inputs.h"

namespace orrery::verbs {

struct EvaluateRequest : DocumentRequest {
  bool strict = false;  // the constraints must hold, too
};

}  // namespace orrery::verbs
