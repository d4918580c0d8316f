// `orrery sparse mask`: a mask that does not look at scores, from a name, Sanger's file and options.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/limits/budget.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/engines/masks/measure.h"
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

struct SparseMask {
  std::string kind;
  base::Count tokens = 0, heads = 0;
  std::uint64_t seed = 0;
  masks::Mask mask;  // empty where the limits ended it
  masks::Measured figures;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

// Throws InputError: O1803 (too large), O1809 to O1814, O1840 (more than there is room for). O1841 where the limits
// ended it.
SparseMask make_sparse_mask(const SparseMaskRequest& request);

}  // namespace orrery::verbs
