// What no packing of a matrix can undercut.
//
//   PE rows   a query with n entries takes ceil(n / pes) PE rows, and a block has `rows` of them;
//   ports     every key with an entry stands on a port of some block, and a key with c entries, of which a block
//   computes
//             at most `rows`, of ceil(c / rows) blocks at least; a block has `ports` of them.
//
// Both bounds count one resource and take the other as free; the larger one holds. What they miss is that the queries
// of a block share its keys: no argument of polynomial cost is known to us that bounds it well, so that the distance to
// the bound is not all room for improvement. Linear in the entries.
#include <algorithm>

#include "orrery/engines/masks/packing/packing_orrery.h"

namespace orrery::masks {

Count fewest_blocks(const PackProblem& problem) {
  Count pe_rows = 0, ports = 0;
  std::vector<Count> queries(static_cast<std::size_t>(problem.columns));
  for (const auto& row : problem.rows) {
    pe_rows += base::ceil_divide(static_cast<Count>(row.size()), problem.array.pes);
    for (const std::int32_t c : row) ++queries[static_cast<std::size_t>(c)];
  }
  // A query may stand on several PE rows of a block, but each of its entries is computed once: `rows` entries of a key
  // at most.
  for (const Count c : queries) ports += base::ceil_divide(c, problem.array.rows);
  return std::max(base::ceil_divide(pe_rows, problem.array.rows), base::ceil_divide(ports, problem.array.ports));
}

}  // namespace orrery::masks
