// Every scheme side by side, each counted as its source counts it, and the bound that holds for it.
#include "orrery/sparse/packing.h"

#include "orrery/base/check.h"
#include "orrery/base/stopwatch.h"
#include "orrery/sparse/control_words.h"
#include "orrery/sparse/packing_orrery.h"

namespace orrery::sparse {
namespace {

constexpr Count kSmallTile = 16;  // of compact16

double share(Count kept, Count slots) {
  return slots > 0 ? static_cast<double>(kept) / static_cast<double>(slots) : 1;
}

// PEs that compute something, by the words that the array is told.
Count busy_pes(const Packing& packing) {
  Count busy = 0;
  for (const PackedBlock& block : packing.blocks) busy += busy_pes(control_words(block, packing.array), packing.array);
  return busy;
}

Count pe_rows(const Packing& packing) {
  Count rows = 0;
  for (const PackedBlock& block : packing.blocks) rows += static_cast<Count>(block.rows.size());
  return rows;
}

Count fewest_blocks_of_all(const Mask& mask, const PackArray& array) {
  Count blocks = 0;
  for (Count m = 0; m < mask.shape().matrices(); ++m) blocks += fewest_blocks(pack_problem(mask, array, m));
  return blocks;
}

}  // namespace

PackProblem pack_problem(const Mask& mask, const PackArray& array, Count matrix) {
  PackProblem problem{array, static_cast<std::int32_t>(mask.columns()), {}};
  for (Count r = 0; r < mask.rows(); ++r) {
    std::vector<std::int32_t> keys;
    mask.for_each_kept(matrix / mask.heads(), matrix % mask.heads(), r,
                       [&](Count c) { keys.push_back(static_cast<std::int32_t>(c)); });
    problem.rows.push_back(std::move(keys));
  }
  return problem;
}

PackedScheme counted(std::string name, const Mask& mask, const Packing& packing) {
  PackedScheme scheme;
  ORRERY_CHECK(busy_pes(packing) == mask.kept(), "each kept entry is computed once");
  scheme.name = std::move(name);
  scheme.fits = true;
  scheme.counts = "slots of its blocks";
  scheme.kept = mask.kept();
  scheme.blocks = static_cast<Count>(packing.blocks.size());
  scheme.sub_rows = pe_rows(packing);
  scheme.utilization = share(scheme.kept, scheme.blocks * packing.array.slots());
  scheme.on_array = scheme.utilization;
  scheme.bound = share(scheme.kept, fewest_blocks_of_all(mask, packing.array) * packing.array.slots());
  return scheme;
}

std::vector<PackedScheme> pack_all(const Mask& mask, const PackArray& array, const cost::Budget& budget,
                                   const PackEffort& effort) {
  std::vector<PackedScheme> schemes;
  base::Stopwatch watch;
  const auto add = [&](PackedScheme scheme) {
    scheme.seconds = watch.seconds();
    schemes.push_back(std::move(scheme));
    watch = {};
  };
  const Count kept = mask.kept();
  const double chunks_bound = share(kept, row_chunks(mask, array) * array.pes);

  // A scheme that is counted by PE rows in use, not by blocks.
  const auto by_pe_rows = [&](std::string name, Count sub_rows) {
    PackedScheme scheme;
    scheme.name = std::move(name);
    scheme.counts = "PE rows in use";
    scheme.kept = kept;
    scheme.sub_rows = sub_rows;
    scheme.utilization = share(kept, sub_rows * array.pes);
    scheme.bound = chunks_bound;
    return scheme;
  };

  add(counted("pack", mask, pack_as_sanger(mask, array)));

  const Packing without = pack_as_sanger(mask, array, false);  // the keys of a block may outnumber the ports
  PackedScheme nowin = by_pe_rows("pack_nowin", pe_rows(without));
  nowin.counts = "slots of its blocks";
  nowin.blocks = static_cast<Count>(without.blocks.size());
  nowin.utilization = share(kept, nowin.blocks * array.slots());
  add(std::move(nowin));

  const PackedScheme compacted = counted("compact64", mask, pack_compacted(mask, array));
  PackedScheme compact = by_pe_rows("compact64", compacted.sub_rows);
  compact.blocks = compacted.blocks;
  compact.on_array = compacted.on_array;
  add(std::move(compact));

  add(by_pe_rows("compact16", compacted_sub_rows(mask, array, kSmallTile)));
  add(by_pe_rows("row_chunks", row_chunks(mask, array)));
  add(counted("orrery", mask, pack_orrery(mask, array, budget, effort)));
  return schemes;
}

}  // namespace orrery::sparse
