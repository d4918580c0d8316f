// What `sparse mask` is asked.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "orrery/base/limits/budget.h"
#include "orrery/base/numbers/count.h"
#include "orrery/engines/masks/static_mask.h"

namespace orrery::verbs {

struct SparseMaskRequest {
  std::string kind;  // one of sparse_mask_kinds(), or Sanger's JSON file
  base::Count tokens = 0, heads = 1;
  std::uint64_t seed = 0;
  std::function<void(masks::Pattern&)> options;  // what was given beside it
  bool writes = false;                           // the mask is wanted as a file, too
  base::Limits limits;
};

}  // namespace orrery::verbs
