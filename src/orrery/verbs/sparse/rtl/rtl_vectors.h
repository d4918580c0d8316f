// What the test vectors of `orrery sparse rtl` run: the first matrices of a mask, of arrays or of a model's attention,
// or random ones.
#pragma once

#include <vector>

#include "orrery/verbs/sparse/rtl/run.h"

namespace orrery::verbs {

struct RtlVectors {
  // Throws InputError: O1971 (nothing to run, or fewer heads than are asked for), those of read_array_cases().
  RtlVectors(const SparseRtlRequest& request, std::vector<base::Input>& inputs, base::Diagnostics& warnings);
  RtlVectors(const RtlVectors&) = delete;
  RtlVectors& operator=(const RtlVectors&) = delete;

  accelerator::Work work;  // points into the rest
  std::vector<float> query, key, value;
  masks::Mask mask;
  base::Count depth = 0, keys = 0, code_bits = 4;
};

}  // namespace orrery::verbs
