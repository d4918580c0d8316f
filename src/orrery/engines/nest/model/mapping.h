// The decision of the `nest` engine: how one einsum is mapped to one chip's levels. Plain data.
//
// Level i has a temporal block T_i and, inside it, a spatial block S_i that spreads over the fan-out
// below storage i. Inner to outer the nest is [S_0][T_0][S_1][T_1]...
//
// Factors that do not divide leave a remainder (Timeloop's imperfect factors, its `ruby` map spaces): a loop has
// `iterations`, but `last` of them where every loop of its dimension outside it is at its last iteration. 16 compute
// units and 13 steps make 197 as 13 x (16, last 5): twelve full steps and one of 5. With e_k iterations of a
// dimension's loops, innermost first, bound - 1 = sum (last_k - 1) e_0 .. e_k-1, so that the bound and the iterations
// determine every `last`: they are the digits of bound - 1, plus one (`complete`).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"

namespace orrery::nest {

struct Factor {
  base::Count iterations = 1;
  base::Count last = 1;

  bool perfect() const { return iterations == last; }
  bool operator==(const Factor&) const = default;
};

struct LevelMapping {
  std::vector<base::Count> temporal;  // iterations per dimension, all >= 1
  std::vector<int> temporal_order;    // every dimension once, innermost loop first
  std::vector<base::Count> spatial;   // instances per dimension, all >= 1
  std::vector<int> spatial_order;     // every dimension once; the first `split` go to X, the others to Y
  int split = 0;
  std::uint32_t keep = 0;  // bit s: this storage keeps a tile of dataspace s
  // Iterations of the last round, per dimension. Empty: as many as in the others.
  std::vector<base::Count> temporal_last, spatial_last;

  bool perfect() const { return temporal_last.empty() && spatial_last.empty(); }
  Factor factor(bool in_space, int d) const {
    const std::vector<base::Count>& last = in_space ? spatial_last : temporal_last;
    const base::Count iterations = (in_space ? spatial : temporal)[d];
    return {iterations, last.empty() ? iterations : last[d]};
  }
  bool operator==(const LevelMapping&) const = default;
};

// One entry per storage of the chip, innermost first (as Chip::storages).
struct Mapping {
  std::vector<LevelMapping> levels;

  bool operator==(const Mapping&) const = default;
};

bool perfect(const Mapping& mapping);

// Gives every loop its last round, so that each dimension comes to its bound; what is perfect is left without. False
// where the iterations do not reach a bound, or its outermost loop would not run to its end: a loop of 7 iterations
// outside 4 for a bound of 8.
bool complete(Mapping& mapping, const std::vector<base::Count>& bounds);

// The bound that factors come to, innermost first; nothing beyond 64 bits.
std::optional<base::Count> span_of(const std::vector<Factor>& innermost_first);

// The factors of a dimension, innermost first: S_0, T_0, S_1, ...
std::vector<Factor> factors_of(const Mapping& mapping, int d);

// Positions in the file that a mapping was read from, for messages. What is not in the file has no position.
struct LevelPlaces {
  base::Location temporal, spatial, keep;
};
struct MappingPlaces {
  base::Location whole;
  std::vector<LevelPlaces> levels;  // as Mapping::levels, or empty
};

}  // namespace orrery::nest
