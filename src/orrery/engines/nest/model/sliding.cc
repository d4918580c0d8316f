// Words that cross each boundary when tiles overlap: convolution windows (reference: Timeloop's delta
// analysis, ISPASS 2019, section VI.B; docs/model/nest.md).
//
// The tile of a dataspace at level i is a box, one side per rank. Each step of the loops above level i
// moves the box by some translation t, and only the words that were not there before have to come:
//     t = 0                                    nothing
//     t along one axis, |t| below the side     the slice that the box newly covers
//     any other                                the whole box
// A window that jumps back starts afresh: t along one axis counts as a slide only when it repeats the
// translation of the slide before it, or starts a new slide; otherwise the whole box is brought and the
// slide forgotten. A loop of n iterations is not walked: iteration 0 runs, then iteration 1 for the n - 1
// that remain, and what the box last held is what iteration 1 left. As in the reference, the step that
// follows a finished loop is therefore seen from its second iteration, not from its last.
//
// What that comes to is a sum over the loops, the innermost first (boxes.h). Cost: loops times ranks for each boundary.
//
// A dataspace whose ranks move with one dimension each has tiles that coincide or lie apart: the closed form
// (traffic.cc) counts it.
//
// In space one box per instance is brought at each step, all of the same shape; instances whose boxes
// coincide share one access (multicast), those that only overlap do not. So
//     accesses_i = words(i-1) * distinct positions over S_i,   deliveries_i = words(i-1) * fan-out
// and accesses_0 = cc * distinct positions over S_0. Left out of the reference's rules: transfers between
// neighbouring instances in place of reads from above, unless asked for (links.cc); imperfect factors, skew.
#include "orrery/engines/nest/model/sliding.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <string>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/engines/nest/model/boxes.h"
#include "orrery/engines/nest/model/links.h"

namespace orrery::nest {

using base::Count;

namespace {

constexpr std::size_t kMaxPositions = std::size_t{1} << 22;

bool is_zero(const Position& position) {
  return position == Position{};
}

// Different positions of the boxes of the instances that S_i spreads over: any dimensions, listed.
Count listed_positions(Ranks ranks, const std::vector<Count>& spatial, const Extents& strides) {
  std::vector<Position> positions{Position{}};
  for (int d = 0; d < static_cast<int>(spatial.size()); ++d) {
    if (spatial[d] == 1) continue;
    const Position step = step_of(ranks, d, strides[d]);
    const std::size_t before = positions.size();
    if (static_cast<std::size_t>(spatial[d]) > kMaxPositions / before)
      base::fail("O1010", "the model supports at most 4194304 instances of a sliding dataspace over one fan-out");
    positions.reserve(before * static_cast<std::size_t>(spatial[d]));
    for (Count index = 1; index < spatial[d]; ++index)
      for (std::size_t at = 0; at < before; ++at) {
        Position moved = positions[at];
        for (std::size_t r = 0; r < ranks.size(); ++r) moved[r] += index * step[r];
        positions.push_back(moved);
      }
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  }
  return static_cast<Count>(positions.size());
}

// The same. Ranks that share no dimension multiply; along one, i a + j b takes n m values less (n - b') (m - a') that
// two pairs (i, j) share, with a', b' being a, b without their common divisor.
Count distinct_positions(Ranks ranks, const std::vector<Count>& spatial, const Extents& strides) {
  Count count = 1;
  std::uint32_t seen = 0;
  for (const workload::Rank& rank : ranks) {
    Count factors[2] = {1, 1}, steps[2] = {0, 0};
    int moving = 0;
    for (const workload::Term& term : rank.terms) {
      if (spatial[term.dimension] == 1) continue;
      const std::uint32_t bit = 1u << term.dimension;
      if (moving == 2 || term.coefficient < 0 || (seen & bit)) return listed_positions(ranks, spatial, strides);
      seen |= bit;
      factors[moving] = spatial[term.dimension];
      steps[moving++] = term.coefficient * strides[term.dimension];
    }
    count *= factors[0] * factors[1];
    if (moving < 2) continue;
    const Count common = std::gcd(steps[0], steps[1]);
    const Count twice =
        std::max<Count>(0, factors[0] - steps[1] / common) * std::max<Count>(0, factors[1] - steps[0] / common);
    count = count / (factors[0] * factors[1]) * (factors[0] * factors[1] - twice);
  }
  return count;
}

// The instances below level i in Timeloop's order: loops as written, the outermost slowest, `split` of them along X.
Grid grid_of(Ranks ranks, const LevelMapping& level, const Extents& strides, Count fanout_x) {
  Grid grid{1, {Position{}}};
  for (std::size_t k = level.spatial_order.size(); k-- > 0;) {
    const int d = level.spatial_order[k];
    const Count n = level.spatial[d];
    if (n == 1) continue;
    if (k < static_cast<std::size_t>(level.split)) grid.width *= n;
    if (static_cast<std::size_t>(n) > kMaxPositions / grid.positions.size())
      base::fail("O1010", "the model supports at most 4194304 instances over one fan-out with link transfers");
    const Position step = step_of(ranks, d, strides[d]);
    std::vector<Position> next;
    next.reserve(grid.positions.size() * static_cast<std::size_t>(n));
    for (const Position& outer : grid.positions)
      for (Count index = 0; index < n; ++index) {
        Position moved = outer;
        for (std::size_t r = 0; r < ranks.size(); ++r) moved[r] += index * step[r];
        next.push_back(moved);
      }
    grid.positions = std::move(next);
  }
  grid.width = std::max(grid.width, fanout_x);
  return grid;
}

}  // namespace

Count words_brought(std::size_t ranks, const Position& sides, std::span<const Loop> loops) {
  while (!loops.empty() && is_zero(loops.back().step)) loops = loops.first(loops.size() - 1);
  const Count box = volume(ranks, sides);
  if (loops.empty()) return box;
  const Loop& innermost = loops.back();
  const Count slice = newly_covered(ranks, sides, box, innermost.step);
  Position at = innermost.step;  // where the loops so far have left the box
  Count words = (innermost.iterations - 1) * slice;
  for (std::size_t j = loops.size() - 1; j-- > 0;) {
    Position moved = loops[j].step;
    for (std::size_t r = 0; r < ranks; ++r) moved[r] -= at[r];
    const Count again = is_zero(moved) ? 0 : moved == innermost.step ? slice : box;
    words = loops[j].iterations * words + (loops[j].iterations - 1) * again;
    for (std::size_t r = 0; r < ranks; ++r) at[r] += loops[j].step[r];
  }
  return box + words;
}

void sliding(const workload::Einsum& einsum, const Shape& shape, const Mapping& mapping,
             const std::vector<ReuseRules>& reuse, Traffic& out, const machine::Chip* linked) {
  const int levels = static_cast<int>(mapping.levels.size());
  const int dimensions = static_cast<int>(einsum.dimensions.size());
  const int dataspaces = static_cast<int>(einsum.dataspaces.size());
  closed_form(einsum, shape, mapping, reuse, out);

  // Extents spanned below S_i, below T_i, and up to and including T_i.
  std::array<Extents, kMaxLevels> below_space, below_time, whole;
  std::array<Count, kMaxDimensions> extents;
  extents.fill(1);
  int most_loops = 0;
  for (int i = 0; i < levels; ++i) {
    const LevelMapping& level = mapping.levels[i];
    for (int d = 0; d < dimensions; ++d) {
      below_space[i][d] = extents[d];
      extents[d] *= level.spatial[d];
      below_time[i][d] = extents[d];
      extents[d] *= level.temporal[d];
      whole[i][d] = extents[d];
      most_loops += level.temporal[d] > 1;
    }
  }
  std::array<Loop, 64> room;
  std::vector<Loop> larger_room(most_loops > static_cast<int>(room.size()) ? most_loops : 0);
  Loop* const loops = larger_room.empty() ? room.data() : larger_room.data();  // of the levels above i, outermost first

  for (int s = 0; s < dataspaces; ++s) {
    if (!linked && !shape.overlapping[s]) continue;
    const Ranks ranks = shape.moving[s];
    if (ranks.size() > kMaxRanks)
      base::fail("O1010", "the model supports 16 ranks per dataspace that move; `" + einsum.dataspaces[s].name +
                              "` has " + std::to_string(ranks.size()));
    std::size_t count = 0;
    Count iterations = 1;
    for (int i = levels - 1; i >= 0; --i) {
      const LevelMapping& level = mapping.levels[i];
      for (auto d = level.temporal_order.rbegin(); d != level.temporal_order.rend(); ++d) {
        if (level.temporal[*d] == 1) continue;
        iterations *= level.temporal[*d];
        loops[count++] = {level.temporal[*d], step_of(ranks, *d, below_time[i][*d])};
      }
      const std::span<const Loop> outside(loops, count);
      const bool whole_again = i > 0 && !reuse.empty() && (reuse[i - 1].no_temporal_reuse >> s & 1);
      const bool alone = !reuse.empty() && (reuse[i].no_spatial_sharing >> s & 1);
      const bool apart = !reuse.empty() && (reuse[i].no_links >> s & 1);
      out.links[i][s] = 0;
      if (linked && out.fanout[i] > 1 && !apart) {
        Position sides;
        sides.fill(1);
        if (i > 0) sides = sides_of(ranks, whole[i - 1]);
        const LinkedWords words =
            words_with_links(ranks.size(), sides, outside, grid_of(ranks, level, below_space[i], linked->fanout_x(i)),
                             i == 0        ? Keeping::kPoints
                             : whole_again ? Keeping::kWhole
                                           : Keeping::kBoxes,
                             !alone);
        out.accesses[i][s] = words.accesses;
        out.deliveries[i][s] = words.deliveries;
        out.links[i][s] = i == 0 ? 0 : words.links;
        continue;
      }
      if (!shape.overlapping[s]) continue;
      Count words = out.compute_cycles;
      if (i > 0)
        words = whole_again ? iterations * out.tile[i - 1][s]
                            : words_brought(ranks.size(), sides_of(ranks, whole[i - 1]), outside);
      out.accesses[i][s] =
          words *
          (alone || out.fanout[i] == 1 ? out.fanout[i] : distinct_positions(ranks, level.spatial, below_space[i]));
      out.deliveries[i][s] = words * out.fanout[i];
    }
  }
}

}  // namespace orrery::nest
