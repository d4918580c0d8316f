// How `orrery` packs: each matrix by itself, in three steps.
//
//   1. The queries are put in the order of their keys, so that the answer does not depend on how they are numbered.
//   2. Keys are dealt to sets for all queries alike (packing_partition.cc): a packing in which every piece of a query's
//      row stands in the block of its set.
//   3. Blocks are taken away while their entries find places in others, whose keys then differ (packing_improve.cc).
//
// The start is the best of step 2 and of the schemes of packing_simple.cc that fit the array, so that the answer never
// has more blocks than these. Matrices share the time that is left; without a limit of time the answer is the same for
// any number of threads.
#include "orrery/engines/masks/packing/packing_orrery.h"

#include <algorithm>
#include <limits>

#include "orrery/base/limits/parallel.h"

namespace orrery::masks {
namespace {

// With a limit of time: what of it goes into dealing the keys.
constexpr double kShareOfPartition = 0.25;

// The blocks of a matrix, which stand together.
PackBlocks only(const Packing& packing, Count matrix) {
  const auto first = std::partition_point(packing.blocks.begin(), packing.blocks.end(),
                                          [&](const PackedBlock& block) { return block.matrix < matrix; });
  return {first,
          std::find_if(first, packing.blocks.end(), [&](const PackedBlock& block) { return block.matrix != matrix; })};
}

}  // namespace

Packing pack_orrery(const Mask& mask, const PackArray& array, const base::Budget& budget, const PackEffort& effort) {
  const auto matrices = static_cast<std::size_t>(mask.shape().matrices());
  const Packing as_sanger = pack_as_sanger(mask, array, true, budget), compacted = pack_compacted(mask, array, budget);
  std::vector<PackBlocks> answers(matrices);
  const auto threads = static_cast<std::size_t>(base::thread_count(effort.threads));
  base::parallel_for(matrices, effort.threads, [&](std::size_t m) {
    PackProblem problem = pack_problem(mask, array, static_cast<Count>(m));
    std::vector<std::pair<std::vector<std::int32_t>, std::int32_t>> queries;
    for (std::size_t r = 0; r < problem.rows.size(); ++r)
      if (!problem.rows[r].empty()) queries.emplace_back(std::move(problem.rows[r]), static_cast<std::int32_t>(r));
    std::sort(queries.begin(), queries.end());
    problem.rows.clear();
    for (const auto& query : queries) problem.rows.push_back(query.first);

    PackBlocks& answer = answers[m];
    if (!problem.rows.empty() && !budget.spent()) {
      const std::size_t turns = (matrices - m + threads - 1) / threads;  // matrices that this thread has yet to do
      const Count bound = fewest_blocks(problem), swaps = effort.swaps * mask.columns();
      if (effort.all_the_time && budget.limited()) {
        const base::Budget share(budget, budget.seconds_left() / static_cast<double>(turns));
        answer = partitioned(problem, {}, base::Budget(share, share.seconds_left() * kShareOfPartition));
        answer = improved(problem, std::move(answer), std::numeric_limits<Count>::max(), bound, share);
      } else {
        answer = partitioned(problem, swaps, budget);
        answer = improved(problem, std::move(answer), effort.rounds, bound, budget);
      }
    }
    for (PackedBlock& block : answer) {
      block.matrix = static_cast<Count>(m);
      for (PackedRow& row : block.rows) row.query = queries[static_cast<std::size_t>(row.query)].second;
    }
    for (const Packing* other : {&as_sanger, &compacted})
      if (PackBlocks blocks = only(*other, static_cast<Count>(m)); answer.empty() || blocks.size() < answer.size())
        answer = std::move(blocks);
  });
  Packing packing{array, {}};
  for (PackBlocks& blocks : answers)
    packing.blocks.insert(packing.blocks.end(), std::make_move_iterator(blocks.begin()),
                          std::make_move_iterator(blocks.end()));
  return packing;
}

}  // namespace orrery::masks
