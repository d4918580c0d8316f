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
// Everything depends on differences of positions only. The walk over the loops, outermost first, is thus a
// function of (loop, where the box was, the slide under way), and few such states occur: each is worked
// out once, so that 2^loops visits become about loops^2.
//
// A dataspace whose ranks move with one dimension each has tiles that coincide or lie apart: every step
// that moves it brings the whole box, and the steps are only counted.
//
// In space one box per instance is brought at each step, all of the same shape; instances whose boxes
// coincide share one access (multicast), those that only overlap do not. So
//     accesses_i = words(i-1) * distinct positions over S_i,   deliveries_i = words(i-1) * fan-out
// and accesses_0 = cc * distinct positions over S_0. Left out of the reference's rules: transfers between
// neighbouring instances in place of reads from above ("link transfers"), imperfect factors, skew.
#include "orrery/nest/sliding.h"

#include <algorithm>
#include <span>
#include <utility>

#include "orrery/base/diagnostic.h"

namespace orrery::nest {

using base::Count;

namespace {

constexpr std::size_t kMaxRanks = 16;
constexpr std::size_t kMaxPositions = std::size_t{1} << 22;

using Position = std::array<Count, kMaxRanks>;  // one coordinate per rank; unused ones stay 0
using Extents = std::array<Count, kMaxDimensions>;

// Ranks that can move; the others have one coordinate only.
std::vector<const workload::Rank*> moving_ranks(const workload::Einsum& einsum, const workload::Dataspace& dataspace) {
  std::vector<const workload::Rank*> ranks;
  for (const workload::Rank& rank : dataspace.ranks)
    if (std::any_of(rank.terms.begin(), rank.terms.end(), [&](const workload::Term& term) {
          return term.coefficient != 0 && einsum.dimensions[term.dimension].bound > 1;
        }))
      ranks.push_back(&rank);
  if (ranks.size() > kMaxRanks)
    base::fail("O1010", "the model supports 16 ranks per dataspace that move; `" + dataspace.name + "` has " +
                            std::to_string(ranks.size()));
  return ranks;
}

using Ranks = std::span<const workload::Rank* const>;

bool tiles_can_overlap(const workload::Einsum& einsum, Ranks ranks) {
  return std::any_of(ranks.begin(), ranks.end(), [&](const workload::Rank* rank) {
    return std::count_if(rank->terms.begin(), rank->terms.end(), [&](const workload::Term& term) {
             return term.coefficient != 0 && einsum.dimensions[term.dimension].bound > 1;
           }) > 1;
  });
}

// How far the box moves when dimension d advances by `stride`.
Position step_of(Ranks ranks, int d, Count stride) {
  Position step{};
  for (std::size_t r = 0; r < ranks.size(); ++r)
    for (const workload::Term& term : ranks[r]->terms)
      if (term.dimension == d) step[r] += term.coefficient * stride;
  return step;
}

Position sides_of(Ranks ranks, const Extents& extents) {
  Position sides{};
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    sides[r] = 1;
    for (const workload::Term& term : ranks[r]->terms) sides[r] += term.coefficient * (extents[term.dimension] - 1);
  }
  return sides;
}

Count volume(std::size_t ranks, const Position& sides) {
  Count words = 1;
  for (std::size_t r = 0; r < ranks; ++r) words *= sides[r];
  return words;
}

bool is_zero(const Position& position) {
  return position == Position{};
}

struct Loop {
  Count iterations;
  Position step;
};

// How often a box that never overlaps its last position is fetched: innermost loops that do not move it do not
// count.
Count moves(std::span<const Loop> outermost_first) {
  while (!outermost_first.empty() && is_zero(outermost_first.back().step))
    outermost_first = outermost_first.first(outermost_first.size() - 1);
  Count count = 1;
  for (const Loop& loop : outermost_first) count *= loop.iterations;
  return count;
}

// The words that a box brings while the loops above it run.
template <std::size_t kRanks>
class Walk {
 public:
  Walk(const Position& sides, std::span<const Loop> outermost_first) : words_(1) {
    for (std::size_t r = 0; r < kRanks; ++r) words_ *= sides_[r] = std::max<Count>(sides[r], 1);
    for (const Loop& loop : outermost_first) loops_.push_back({loop.iterations, narrow(loop.step)});
    while (!loops_.empty() && loops_.back().second == Move{}) loops_.pop_back();
    known_.resize(loops_.size());
  }

  Count words() { return visit(0, {}).words; }

 private:
  using Move = std::array<Count, kRanks>;

  static Move narrow(const Position& position) {
    Move move;
    std::copy_n(position.begin(), kRanks, move.begin());
    return move;
  }

  struct State {
    bool filled = false;   // the box has held something
    Move held{};           // where that was, seen from where the box is to be
    bool sliding = false;  // a slide is under way
    Move slide{};          // its translation

    bool operator==(const State&) const = default;
  };
  struct Outcome {
    Count words = 0;
    State left;
  };

  Outcome visit(std::size_t depth, const State& entry) {
    if (depth == loops_.size()) return bring(entry);
    for (const auto& [state, outcome] : known_[depth])
      if (state == entry) return outcome;
    const auto& [iterations, step] = loops_[depth];
    Outcome outcome = visit(depth + 1, entry);
    State next = outcome.left;
    for (std::size_t r = 0; r < kRanks; ++r) next.held[r] -= step[r];
    const Outcome again = visit(depth + 1, next);
    outcome.words += (iterations - 1) * again.words;
    outcome.left = again.left;
    for (std::size_t r = 0; r < kRanks; ++r) outcome.left.held[r] += step[r];
    known_[depth].emplace_back(entry, outcome);
    return outcome;
  }

  Outcome bring(const State& entry) const {
    State left = entry;
    left.filled = true;
    left.held = {};
    if (!entry.filled) return {words_, left};
    if (entry.held == Move{}) return {0, left};
    Move moved{};
    for (std::size_t r = 0; r < kRanks; ++r) moved[r] = -entry.held[r];
    if (entry.sliding && moved != entry.slide) {
      left.sliding = false;
      left.slide = {};
      return {words_, left};
    }
    left.sliding = true;
    left.slide = moved;
    return {newly_covered(moved), left};
  }

  Count newly_covered(const Move& moved) const {
    std::size_t axis = kRanks;
    for (std::size_t r = 0; r < kRanks; ++r) {
      if (moved[r] == 0) continue;
      if (axis != kRanks) return words_;
      axis = r;
    }
    return words_ / sides_[axis] * std::min(std::abs(moved[axis]), sides_[axis]);
  }

  Move sides_;
  Count words_;
  std::vector<std::pair<Count, Move>> loops_;
  std::vector<std::vector<std::pair<State, Outcome>>> known_;
};

Count walk(std::size_t ranks, const Position& sides, std::span<const Loop> outermost_first) {
  if (ranks <= 2) return Walk<2>(sides, outermost_first).words();
  if (ranks <= 4) return Walk<4>(sides, outermost_first).words();
  return Walk<kMaxRanks>(sides, outermost_first).words();
}

// Different positions of the boxes of the instances that S_i spreads over. A dimension that alone moves
// some rank never makes two of them coincide and is counted by its factor; the others are listed.
Count distinct_positions(Ranks ranks, const std::vector<Count>& spatial, const Extents& strides) {
  const int dimensions = static_cast<int>(spatial.size());
  std::array<int, kMaxRanks> movers{};
  std::array<Position, kMaxDimensions> steps;
  for (int d = 0; d < dimensions; ++d) {
    if (spatial[d] == 1) continue;
    steps[d] = step_of(ranks, d, strides[d]);
    for (std::size_t r = 0; r < ranks.size(); ++r) movers[r] += steps[d][r] != 0;
  }
  Count count = 1;
  std::vector<Position> positions{Position{}};
  for (int d = 0; d < dimensions; ++d) {
    if (spatial[d] == 1 || is_zero(steps[d])) continue;
    bool alone = false;
    for (std::size_t r = 0; r < ranks.size(); ++r) alone = alone || (movers[r] == 1 && steps[d][r] != 0);
    if (alone) {
      count *= spatial[d];
      continue;
    }
    const std::size_t before = positions.size();
    if (static_cast<std::size_t>(spatial[d]) > kMaxPositions / before)
      base::fail("O1010", "the model supports at most 4194304 instances of a sliding dataspace over one fan-out");
    positions.reserve(before * static_cast<std::size_t>(spatial[d]));
    for (Count index = 1; index < spatial[d]; ++index)
      for (std::size_t at = 0; at < before; ++at) {
        Position moved = positions[at];
        for (std::size_t r = 0; r < ranks.size(); ++r) moved[r] += index * steps[d][r];
        positions.push_back(moved);
      }
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  }
  return count * static_cast<Count>(positions.size());
}

}  // namespace

void sliding(const workload::Einsum& einsum, const Mapping& mapping, const std::vector<ReuseRules>& reuse,
             Traffic& out) {
  const int levels = static_cast<int>(mapping.levels.size());
  const int dimensions = static_cast<int>(einsum.dimensions.size());
  const int dataspaces = static_cast<int>(einsum.dataspaces.size());

  // Extents spanned below S_i, below T_i, and up to and including T_i.
  std::array<Extents, kMaxLevels> below_space, below_time, whole;
  Extents extents;
  extents.fill(1);
  out.compute_cycles = 1;
  out.compute_instances = 1;
  for (int i = 0; i < levels; ++i) {
    const LevelMapping& level = mapping.levels[i];
    out.fanout[i] = 1;
    below_space[i] = extents;
    for (int d = 0; d < dimensions; ++d) {
      extents[d] *= level.spatial[d];
      out.fanout[i] *= level.spatial[d];
    }
    below_time[i] = extents;
    for (int d = 0; d < dimensions; ++d) {
      extents[d] *= level.temporal[d];
      out.compute_cycles *= level.temporal[d];
    }
    whole[i] = extents;
  }
  for (int i = levels - 1; i >= 0; --i) {
    out.instances[i] = out.compute_instances;
    out.compute_instances *= out.fanout[i];
  }

  for (int s = 0; s < dataspaces; ++s) {
    const std::vector<const workload::Rank*> ranks = moving_ranks(einsum, einsum.dataspaces[s]);
    const bool overlapping = tiles_can_overlap(einsum, ranks);
    std::vector<Loop> loops;  // of the levels above i, outermost first
    Count iterations = 1;
    for (int i = 0; i < levels; ++i) out.tile[i][s] = volume(ranks.size(), sides_of(ranks, whole[i]));
    for (int i = levels - 1; i >= 0; --i) {
      const LevelMapping& level = mapping.levels[i];
      if (i == levels - 1) {
        out.partition[i][s] = out.tile[i][s];
      } else {
        const Count spread = volume(ranks.size(), sides_of(ranks, below_time[i + 1]));
        out.partition[i][s] =
            static_cast<Count>(static_cast<__int128>(out.partition[i + 1][s]) * out.tile[i][s] / spread);
      }

      for (auto d = level.temporal_order.rbegin(); d != level.temporal_order.rend(); ++d) {
        if (level.temporal[*d] == 1) continue;
        iterations *= level.temporal[*d];
        loops.push_back({level.temporal[*d], step_of(ranks, *d, below_time[i][*d])});
      }
      Count words = out.compute_cycles;
      if (i > 0) {
        const Count tile = out.tile[i - 1][s];
        if (!reuse.empty() && (reuse[i - 1].no_temporal_reuse >> s & 1))
          words = iterations * tile;
        else if (overlapping)
          words = walk(ranks.size(), sides_of(ranks, whole[i - 1]), loops);
        else
          words = moves(loops) * tile;
      }
      const bool alone = !reuse.empty() && (reuse[i].no_spatial_sharing >> s & 1);
      out.accesses[i][s] = words * (alone ? out.fanout[i] : distinct_positions(ranks, level.spatial, below_space[i]));
      out.deliveries[i][s] = words * out.fanout[i];
    }
  }
}

}  // namespace orrery::nest
