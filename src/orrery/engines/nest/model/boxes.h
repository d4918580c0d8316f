// Boxes that move: where a tile of a dataspace lies, how far a loop moves it, and what a run of loops brings.
//
// A tile is a box with one side per rank. Loops outside it move it; a step by t brings
//     t = 0                                    nothing
//     t along one axis, |t| below the side     the slice that the box newly covers
//     any other                                the whole box
// and a slide counts only while t repeats. Of the loops that move the box let 1 be the innermost, t_j the step of
// loop j, n_j its iterations. A loop is seen through its iterations 0 and 1 only (sliding.cc), so when loop j steps,
// the loops inside it stand at 1 and the box moves by t_j - (t_1 + ... + t_j-1). The step of loop 1 has just been
// taken, thus
//     brought by that move   c_j = 0 if it is 0, the slice of t_1 if it is t_1, the whole box otherwise
//     W_1 = (n_1 - 1) slice(t_1),   W_j = n_j W_j-1 + (n_j - 1) c_j,   words = box + W_last
// Loops outside loop 1 that do not move the box count with t_j = 0; those inside it bring nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <vector>

#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/traffic.h"

namespace orrery::nest {

inline constexpr std::size_t kMaxRanks = 16;

using Position = std::array<base::Count, kMaxRanks>;  // one coordinate per rank; unused ones stay 0
using Extents = std::array<base::Count, kMaxDimensions>;
using Ranks = std::span<const workload::Rank>;  // those that can move (Shape::moving); the others have one coordinate

// How far the box moves when dimension d advances by `stride`.
inline Position step_of(Ranks ranks, int d, base::Count stride) {
  Position step{};
  for (std::size_t r = 0; r < ranks.size(); ++r)
    for (const workload::Term& term : ranks[r].terms)
      if (term.dimension == d) step[r] += term.coefficient * stride;
  return step;
}

inline Position sides_of(Ranks ranks, const Extents& extents) {
  Position sides{};
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    sides[r] = 1;
    for (const workload::Term& term : ranks[r].terms) sides[r] += term.coefficient * (extents[term.dimension] - 1);
  }
  return sides;
}

inline base::Count volume(std::size_t ranks, const Position& sides) {
  base::Count words = 1;
  for (std::size_t r = 0; r < ranks; ++r) words *= sides[r];
  return words;
}

struct Loop {
  base::Count iterations;
  Position step;
};

// Words that a move by `moved`, not 0, brings where the box was just before.
inline base::Count newly_covered(std::size_t ranks, const Position& sides, base::Count words, const Position& moved) {
  std::size_t axis = ranks;
  for (std::size_t r = 0; r < ranks; ++r) {
    if (moved[r] == 0) continue;
    if (axis != ranks) return words;
    axis = r;
  }
  return words / sides[axis] * std::min(std::abs(moved[axis]), sides[axis]);
}

// Words that a box of these sides brings while the loops outside it run.
base::Count words_brought(std::size_t ranks, const Position& sides, std::span<const Loop> outermost_first);

}  // namespace orrery::nest
