// How a tensor's tiles lie in the storages that keep them: the loops that each rank of a format takes, and what tiles
// hold, in values and metadata.
#pragma once

#include <optional>
#include <vector>

#include "orrery/engines/nest/sparse/sparse_design.h"
#include "orrery/engines/nest/sparse/sparse_evaluation.h"
#include "orrery/engines/nest/sparse/sparse_nest.h"

namespace orrery::nest {

// One rank of a tile's tree: fibers of `shape` coordinates, each of which leads to a tile `below`.
struct RankShape {
  std::vector<SparseLoop> loops;
  Extents swept;  // by these loops and those inside them
};

struct TileContent {
  Mold mold;                            // of the tile
  bool conditional = false;             // empty tiles do not come here: what follows is of the others
  double share = 1;                     // of the tiles, those with a nonzero
  double words = 0;                     // nonzeros, on average
  std::vector<FormatUnits> units;       // per rank, innermost first; on average
  std::vector<FormatUnits> most_units;  // of a tile with as many nonzeros as there may be
  base::Count most_words = 0;           // that are stored
  double density() const { return words / static_cast<double>(mold.words); }
};

// Of dataspace s at every level that keeps it; the others stay empty. The first misfit, if any, goes to `misfit`.
std::vector<TileContent> tile_contents(const SparseNest& nest, const SparseDesign& design, int s,
                                       std::optional<SparseMisfit>& misfit);

// The loops of each rank at `level`, given those of the keeper inside; without a format there is one rank of all loops.
std::optional<std::vector<RankShape>> rank_shapes(const SparseNest& nest, const SparseDesign& design, int level, int s,
                                                  const std::vector<RankShape>& of_child,
                                                  std::optional<SparseMisfit>& misfit);

}  // namespace orrery::nest
