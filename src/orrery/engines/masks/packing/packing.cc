// Every scheme side by side, each counted as its source counts it, and the bound that holds for it.
#include "orrery/engines/masks/packing/packing.h"

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/limits/stopwatch.h"
#include "orrery/engines/masks/packing/control_words.h"
#include "orrery/engines/masks/packing/packing_orrery.h"

namespace orrery::masks {
namespace {

constexpr Count kSmallTile = 16;  // of compact16

double share(Count kept, Count slots) {
  return slots > 0 ? static_cast<double>(kept) / static_cast<double>(slots) : 1;
}

// Its shares, of its counts.
PackedScheme divided(PackedScheme scheme) {
  scheme.utilization = share(scheme.kept, scheme.slots);
  scheme.bound = share(scheme.kept, scheme.fewest_slots);
  if (scheme.on_array) scheme.on_array = share(scheme.kept, scheme.array_slots);
  return scheme;
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
  scheme.slots = scheme.array_slots = scheme.blocks * packing.array.slots();
  scheme.on_array = 0;
  scheme.fewest_slots = fewest_blocks_of_all(mask, packing.array) * packing.array.slots();
  return divided(std::move(scheme));
}

PackedScheme sum_of(const std::vector<PackedScheme>& same) {
  PackedScheme sum = same.front();
  for (std::size_t i = 1; i < same.size(); ++i) {
    const PackedScheme& one = same[i];
    sum.kept += one.kept;
    sum.blocks += one.blocks;
    sum.sub_rows += one.sub_rows;
    sum.slots += one.slots;
    sum.array_slots += one.array_slots;
    sum.fewest_slots += one.fewest_slots;
    sum.seconds += one.seconds;
  }
  return divided(std::move(sum));
}

std::vector<std::string> packing_names() {
  return {"pack", "pack_nowin", "compact64", "compact16", "row_chunks", "orrery"};
}

PackedScheme pack_by(const std::string& name, const Mask& mask, const PackArray& array, const base::Budget& budget,
                     const PackEffort& effort, Packing* packing) {
  const base::Stopwatch watch;
  const Count kept = mask.kept();
  // A scheme that the array cannot compute as it is counted.
  const auto beyond = [&](Count sub_rows, std::string counts) {
    PackedScheme scheme;
    scheme.name = name;
    scheme.counts = std::move(counts);
    scheme.kept = kept;
    scheme.sub_rows = sub_rows;
    scheme.slots = sub_rows * array.pes;
    scheme.fewest_slots = row_chunks(mask, array, budget) * array.pes;
    return scheme;
  };
  const auto by_blocks = [&](Packing made) {
    PackedScheme scheme = counted(name, mask, made);
    if (packing != nullptr) *packing = std::move(made);
    return scheme;
  };
  PackedScheme out;
  if (name == "pack") {
    out = by_blocks(pack_as_sanger(mask, array, true, budget));
  } else if (name == "orrery") {
    out = by_blocks(pack_orrery(mask, array, budget, effort));
  } else if (name == "pack_nowin") {
    const Packing made = pack_as_sanger(mask, array, false, budget);  // the keys of a block may outnumber the ports
    out = beyond(pe_rows(made), "slots of its blocks");
    out.blocks = static_cast<Count>(made.blocks.size());
    out.slots = out.blocks * array.slots();
  } else if (name == "compact64") {
    // Its blocks do fit; counted by PE rows, as its source has it, those that a block leaves idle cost nothing.
    const PackedScheme blocks = by_blocks(pack_compacted(mask, array, budget));
    out = beyond(blocks.sub_rows, "PE rows in use");
    out.blocks = blocks.blocks;
    out.on_array = blocks.on_array;
    out.array_slots = blocks.array_slots;
  } else if (name == "compact16") {
    out = beyond(compacted_sub_rows(mask, array, kSmallTile, budget), "PE rows in use");
  } else {
    ORRERY_CHECK(name == "row_chunks", "a scheme of packing_names()");
    out = beyond(row_chunks(mask, array, budget), "PE rows in use");
  }
  out.seconds = watch.seconds();
  return divided(std::move(out));
}

std::vector<PackedScheme> pack_all(const Mask& mask, const PackArray& array, const base::Budget& budget,
                                   const PackEffort& effort) {
  std::vector<PackedScheme> schemes;
  for (const std::string& name : packing_names()) schemes.push_back(pack_by(name, mask, array, budget, effort));
  return schemes;
}

}  // namespace orrery::masks
