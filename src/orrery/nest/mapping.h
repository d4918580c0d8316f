// The decision of the `nest` engine: how one einsum is mapped to one chip's levels. Plain data.
//
// Level i has a temporal block T_i and, inside it, a spatial block S_i that spreads over the fan-out
// below storage i. Inner to outer the nest is [S_0][T_0][S_1][T_1]...
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/base/count.h"
#include "orrery/base/diagnostic.h"

namespace orrery::nest {

struct LevelMapping {
  std::vector<base::Count> temporal;  // iterations per dimension, all >= 1
  std::vector<int> temporal_order;    // every dimension once, innermost loop first
  std::vector<base::Count> spatial;   // instances per dimension, all >= 1
  std::vector<int> spatial_order;     // every dimension once; the first `split` go to X, the others to Y
  int split = 0;
  std::uint32_t keep = 0;  // bit s: this storage keeps a tile of dataspace s

  bool operator==(const LevelMapping&) const = default;
};

// One entry per storage of the chip, innermost first (as Chip::storages).
struct Mapping {
  std::vector<LevelMapping> levels;

  bool operator==(const Mapping&) const = default;
};

// Positions in the file that a mapping was read from, for messages. What is not in the file has no position.
struct LevelPlaces {
  base::Location temporal, spatial, keep;
};
struct MappingPlaces {
  base::Location whole;
  std::vector<LevelPlaces> levels;  // as Mapping::levels, or empty
};

}  // namespace orrery::nest
