// What `sparse pack` is asked.
#pragma once

#include <optional>
#include <string>

#include "orrery/base/limits/budget.h"
#include "orrery/base/numbers/count.h"
#include "orrery/engines/masks/packing/packing.h"

namespace orrery::verbs {

struct SparsePackRequest {
  std::string mask;                    // a file or a folder (sparse_folder.h)
  std::optional<base::Count> columns;  // of packed bits
  std::string valid;
  bool causal = false;
  masks::PackArray array;
  masks::PackEffort effort;
  base::Limits limits;
};

}  // namespace orrery::verbs
