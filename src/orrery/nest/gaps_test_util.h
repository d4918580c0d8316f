// Outputs that leave words out. Test-only.
#pragma once

#include <set>

#include "orrery/workload/einsum.h"

namespace orrery::nest::testing {

// Whether words of an output lie between others that no operation updates. The account of first updates counts these.
inline bool has_gaps(const workload::Einsum& einsum) {
  for (const workload::Rank& rank : einsum.dataspaces.back().ranks) {
    std::set<base::Count> places{0};
    for (const workload::Term& term : rank.terms) {
      std::set<base::Count> more;
      for (const base::Count place : places)
        for (base::Count index = 0; index < einsum.dimensions[term.dimension].bound; ++index)
          more.insert(place + term.coefficient * index);
      places = std::move(more);
    }
    if (*places.rbegin() + 1 != static_cast<base::Count>(places.size())) return true;
  }
  return false;
}

}  // namespace orrery::nest::testing
