// What `energy` answers.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/describe/energy/estimate.h"

namespace orrery::verbs {

struct EstimatedChip {
  std::vector<energy::EstimatedComponent> components;
  std::string flattened;            // flattened_architecture.yaml: what was estimated
  std::vector<std::string> compat;  // originals whose defects are reproduced
  std::vector<base::Input> inputs;  // files and overrides
  base::Diagnostics warnings;
};

}  // namespace orrery::verbs
