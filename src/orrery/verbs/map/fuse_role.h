// What a layer can be in a fused pair.
#pragma once

#include <optional>

#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/einsum.h"

namespace orrery::verbs {

// A product that makes a matrix, or a normalisation of one. Its sizes, in order of size, and the dataspace that is
// handed over.
struct FuseRole {
  bool product = false;
  base::Count smaller = 1, larger = 1;
  int dataspace = -1;
};
std::optional<FuseRole> fuse_role(const workload::Einsum& einsum);

}  // namespace orrery::verbs
