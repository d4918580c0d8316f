// A run as the controller sees it: matrices, their tiles, their blocks. Sizes only; plain data.
#pragma once

#include <vector>

#include "orrery/engines/accelerator/simulate.h"

namespace orrery::accelerator {

struct BlockPlan {
  Count pack_cycles = 0;  // columns of the tile's mask that it takes, and one to close it
  Count keys = 0;         // ports in use
  Count rows = 0;         // PE rows in use
  Count entries = 0;
};

struct TilePlan {
  Count matrix = 0;  // of the run's matrices, in MatrixPlan's order
  Count first_query = 0, queries = 0;
  Count keys = 0;  // up to the last one that may be seen
  Count first_block = 0, blocks = 0;
  Count empty_cycles = 0;  // that packing takes where there is no block
};

struct MatrixPlan {
  Count matrix = 0;             // batch * heads + head
  Count queries = 0, keys = 0;  // up to the last valid ones
  Count first_tile = 0, tiles = 0;
};

// Matrices without a valid query are left out.
struct RunPlan {
  std::vector<MatrixPlan> matrices;
  std::vector<TilePlan> tiles;
  std::vector<BlockPlan> blocks;
  bool predicts = false, packed = false;
};

// Matrices and tiles; no blocks yet.
RunPlan planned_tiles(const Instance& instance, const Work& work);

// The keys that a tile goes through.
Count keys_of_tile(const masks::MaskShape& shape, bool causal, Count keys, Count last_query);

// Adds the blocks of a packing: that of masks::pack_as_sanger(), or any other where blocks are given.
void add_blocks(const masks::Packing& packing, RunPlan& plan);

}  // namespace orrery::accelerator
