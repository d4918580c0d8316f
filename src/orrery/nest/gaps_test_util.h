// Outputs that leave words out. Test-only.
#pragma once

#include "orrery/workload/einsum.h"

namespace orrery::nest::testing {

// Whether words of an output lie between its tiles that no operation updates: their first updates are no reads spared.
inline bool has_gaps(const workload::Einsum& einsum) {
  for (const workload::Rank& rank : einsum.dataspaces.back().ranks)
    for (const workload::Term& term : rank.terms) {
      base::Count others = 1;
      for (const workload::Term& other : rank.terms)
        if (other.dimension != term.dimension)
          others += other.coefficient * (einsum.dimensions[other.dimension].bound - 1);
      if (einsum.dimensions[term.dimension].bound > 1 && term.coefficient > others) return true;
    }
  return false;
}

}  // namespace orrery::nest::testing
