// What `tune layouts` is asked.
#pragma once

#include <optional>

#include "orrery/base/numbers/count.h"

namespace orrery::verbs {

struct LayoutsRequest {
  std::optional<base::Count> b, h, i, j;  // all four must be given
  std::optional<base::Count> k, p, u;     // default: j, i / h, 4 i
};

}  // namespace orrery::verbs
