// What `sparse rtl` is asked.
#pragma once

#include <cstdint>
#include <optional>

#include "orrery/base/numbers/count.h"
#include "orrery/verbs/sparse/accelerator_run.h"

namespace orrery::verbs {

struct SparseRtlRequest {
  // As `sparse simulate` has it; what the hardware does not have is refused.
  ArrayChoice choice;
  // The largest head size, keys that fit, sequences of a START, bits of codes; bytes of the memory's word.
  std::optional<base::Count> depth, keys, sequences, bits;
  base::Count word = 16;
  // The vectors: the first matrices of what is given; else predicted ones of so many tokens with random numbers. So are
  // the numbers of a mask alone.
  bool given = false;
  ArrayCasesRequest input;
  base::Count matrices = 1;
  std::optional<base::Count> tokens;
  std::uint64_t seed = 1;
};

}  // namespace orrery::verbs
