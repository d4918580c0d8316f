// Orrery's way to pack: queries and keys chosen to fill the array. packing_orrery.cc tells how.
#pragma once

#include <optional>

#include "orrery/engines/masks/packing/packing.h"

namespace orrery::masks {

// One matrix as the search sees it: the keys of each query that has any, ascending.
struct PackProblem {
  PackArray array;
  std::int32_t columns = 0;
  std::vector<std::vector<std::int32_t>> rows;

  Count entries() const {
    Count sum = 0;
    for (const auto& row : rows) sum += static_cast<Count>(row.size());
    return sum;
  }
};

// That of a matrix of a mask; its rows are the queries, those without entries, too.
PackProblem pack_problem(const Mask& mask, const PackArray& array, Count matrix);

// Blocks of a problem; their queries are indices of its rows.
using PackBlocks = std::vector<PackedBlock>;

// Queries in groups, and for each its keys dealt to sets of `ports`, by swaps that save PE rows
// (packing_partition.cc): `swaps` of them a group, or, with none, until the budget's time is up. Empty where there is
// no memory for it.
PackBlocks partitioned(const PackProblem& problem, std::optional<Count> swaps, const base::Budget& budget);

// `start` with fewer blocks, as few as `rounds` of search find; none looks for less than `bound` (packing_improve.cc).
PackBlocks improved(const PackProblem& problem, PackBlocks start, Count rounds, Count bound,
                    const base::Budget& budget);

// The best of these and of the schemes of packing.h that fit the array: never more blocks than any of them.
Packing pack_orrery(const Mask& mask, const PackArray& array, const base::Budget& budget, const PackEffort& effort);

// No packing of a matrix on the array has fewer blocks (packing_bound.cc).
Count fewest_blocks(const PackProblem& problem);

}  // namespace orrery::masks
