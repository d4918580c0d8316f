// The different words of a dataspace that operations touch.
#pragma once

#include <algorithm>
#include <cstdint>

#include "orrery/describe/workload/einsum.h"

namespace orrery::nest {

// At least so many: windows that jump leave some out, and along a diagonal only one rank is counted.
inline double touched_words(const workload::Einsum& einsum, int s) {
  double words = 1, longest = 1;
  std::uint32_t seen = 0;
  bool diagonal = false;
  for (const workload::Rank& rank : einsum.dataspaces[static_cast<std::size_t>(s)].ranks) {
    base::Count together = 1, most = 1;
    bool jumps = false;
    for (const workload::Term& term : rank.terms) {
      const base::Count bound = einsum.dimensions[static_cast<std::size_t>(term.dimension)].bound;
      if (term.coefficient == 0 || bound == 1) continue;
      diagonal = diagonal || (seen >> term.dimension & 1);
      seen |= 1u << term.dimension;
      together += bound - 1;
      most = std::max(most, bound);
      jumps = jumps || term.coefficient > 1;
    }
    const double here = static_cast<double>(jumps ? most : together);
    words *= here;
    longest = std::max(longest, here);
  }
  return diagonal ? longest : words;
}

}  // namespace orrery::nest
