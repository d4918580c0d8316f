// What `sparse mask` answers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/numbers/count.h"
#include "orrery/engines/masks/mask.h"
#include "orrery/engines/masks/measure.h"

namespace orrery::verbs {

struct SparseMask {
  std::string kind;
  base::Count tokens = 0, heads = 0;
  std::uint64_t seed = 0;
  masks::Mask mask;  // empty where the limits ended it
  masks::Measured figures;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

}  // namespace orrery::verbs
