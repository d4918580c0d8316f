// Outputs of which tiles may leave words out. Test-only.
#pragma once

#include "orrery/workload/einsum.h"

namespace orrery::nest::testing {

// Whether a tile of an output may hold words that no operation of its own updates. The account of first updates counts
// these as well, and comes to less than no reads.
inline bool has_gaps(const workload::Einsum& einsum) {
  for (const workload::Rank& rank : einsum.dataspaces.back().ranks)
    for (const workload::Term& term : rank.terms)
      if (term.coefficient > 1 && einsum.dimensions[term.dimension].bound > 1) return true;
  return false;
}

}  // namespace orrery::nest::testing
