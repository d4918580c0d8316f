// Which share of a tensor's accesses gating and skipping leave out.
#pragma once

#include <optional>
#include <vector>

#include "orrery/engines/nest/model/accounting.h"
#include "orrery/engines/nest/sparse/sparse_design.h"
#include "orrery/engines/nest/sparse/sparse_evaluation.h"
#include "orrery/engines/nest/sparse/sparse_nest.h"
#include "orrery/engines/nest/sparse/sparse_tiles.h"

namespace orrery::nest {

struct Saved {
  bool any = false;
  bool skips = false;  // else gates
  double share = 0;    // of all accesses that the dense problem makes here
};

// [level][dataspace]: what is saved where. `contents`: of tile_contents, [dataspace][level].
std::vector<std::vector<Saved>> saved_accesses(const SparseNest& nest, const SparseDesign& design,
                                               const machine::Chip& chip, const std::vector<PricedLevel>& levels,
                                               const std::vector<std::vector<TileContent>>& contents,
                                               std::optional<SparseMisfit>& misfit);

// The share that one follower saves at `level`, which keeps its target: the probability that the tiles of all leaders
// that a read of the target meets are empty. `block`: words that one read brings.
double saved_by(const SparseNest& nest, const SparseDesign& design, const Follower& follower, int level, double block);

}  // namespace orrery::nest
