// Transfers between neighbours (reference: Timeloop's source as of 2024, which the goldens were made by).
//
// At each step of the loops outside a fan-out every instance wants the words that are new in its box. An instance whose
// new words are exactly those that a neighbour on the grid (left, right, above, below) was given at the step before
// takes them from there; the others read from above, equal wishes once. That counts where it needs fewer reads than
// sharing alone, decided at each step. A step at which nothing is new makes the neighbours forget.
//
// The instances' boxes differ by where they lie only. So whether i can take from j depends on one difference: how far
// the new words of the first instance moved since the step before has to be how far j lies from i. The walk over loops
// is that of sliding.cc (a loop is seen through its iterations 0 and 1), with the last new words as part of its state.
// Each state is worked out once. Cost: states times instances, in the worst case.
#include "orrery/engines/nest/model/links.h"

#include <map>
#include <utility>

namespace orrery::nest {

using base::Count;

namespace {

struct News {  // the words that are new in the first instance's box
  bool any = false;
  Position origin{}, sides{};
  bool operator==(const News&) const = default;
};

struct State {
  bool filled = false;   // the box has held something
  Position held{};       // where that was, seen from where the box is to be
  bool sliding = false;  // a slide is under way
  Position slide{};
  News last;
  bool operator==(const State&) const = default;

  void move(const Position& by, int sign) {
    for (std::size_t r = 0; r < by.size(); ++r) {
      held[r] += sign * by[r];
      if (last.any) last.origin[r] += sign * by[r];
    }
  }
};

class Neighbours {
 public:
  Neighbours(const Grid& grid, bool shared) : grid_(grid), shared_(shared) {
    all_ = distinct(grid.positions);
    for (std::size_t i = 0; i < grid.positions.size(); ++i)
      for_each_neighbour(i, [&](std::size_t j) { apart_.push_back(difference(j, i)); });
    std::sort(apart_.begin(), apart_.end());
    apart_.erase(std::unique(apart_.begin(), apart_.end()), apart_.end());
  }

  struct Served {
    Count linked = 0;    // instances that a neighbour serves
    Count distinct = 0;  // different wishes of the others
  };
  Count all() const { return all_; }
  Count instances() const { return static_cast<Count>(grid_.positions.size()); }

  // When the new words of each instance lie `moved` from those of the step before.
  const Served& served(const Position& moved) {
    const auto [place, fresh] = known_.try_emplace(moved);
    if (!fresh) return place->second;
    Served& result = place->second;
    result.distinct = all_;
    if (!std::binary_search(apart_.begin(), apart_.end(), moved)) return result;
    std::vector<Position> others;
    for (std::size_t i = 0; i < grid_.positions.size(); ++i) {
      bool from_neighbour = false;
      for_each_neighbour(i, [&](std::size_t j) { from_neighbour = from_neighbour || difference(j, i) == moved; });
      if (from_neighbour)
        ++result.linked;
      else
        others.push_back(grid_.positions[i]);
    }
    result.distinct = distinct(std::move(others));
    return result;
  }

 private:
  template <typename Use>
  void for_each_neighbour(std::size_t i, const Use& use) const {
    const std::size_t width = static_cast<std::size_t>(grid_.width), count = grid_.positions.size();
    if (i % width > 0) use(i - 1);
    if (i % width + 1 < width && i + 1 < count) use(i + 1);
    if (i >= width) use(i - width);
    if (i + width < count) use(i + width);
  }

  Position difference(std::size_t a, std::size_t b) const {
    Position apart;
    for (std::size_t r = 0; r < apart.size(); ++r) apart[r] = grid_.positions[a][r] - grid_.positions[b][r];
    return apart;
  }

  Count distinct(std::vector<Position> positions) const {
    if (!shared_) return static_cast<Count>(positions.size());
    std::sort(positions.begin(), positions.end());
    return std::unique(positions.begin(), positions.end()) - positions.begin();
  }

  const Grid& grid_;
  const bool shared_;
  Count all_ = 0;
  std::vector<Position> apart_;  // of neighbours
  std::map<Position, Served> known_;
};

class Walk {
 public:
  Walk(std::size_t ranks, const Position& sides, std::span<const Loop> loops, const Grid& grid, Keeping keeping,
       bool shared)
      : ranks_(ranks), sides_(sides), loops_(loops), keeping_(keeping), neighbours_(grid, shared) {
    for (std::size_t r = ranks; r < sides_.size(); ++r) sides_[r] = 1;
    known_.resize(loops.size());
  }

  LinkedWords words() { return visit(0, {}).words; }

 private:
  struct Outcome {
    LinkedWords words;
    State left;
  };

  Outcome visit(std::size_t depth, const State& entry) {
    if (depth == loops_.size()) return bring(entry);
    for (const auto& [state, outcome] : known_[depth])
      if (state == entry) return outcome;
    const auto& [iterations, step] = loops_[depth];
    Outcome outcome = visit(depth + 1, entry);
    State next = outcome.left;
    next.move(step, -1);
    const Outcome again = visit(depth + 1, next);
    outcome.words.accesses += (iterations - 1) * again.words.accesses;
    outcome.words.deliveries += (iterations - 1) * again.words.deliveries;
    outcome.words.links += (iterations - 1) * again.words.links;
    outcome.left = again.left;
    outcome.left.move(step, 1);
    known_[depth].emplace_back(entry, outcome);
    return outcome;
  }

  Outcome bring(const State& entry) {
    State left = entry;
    left.filled = true;
    left.held = {};
    left.last = news(entry, left);
    if (!left.last.any) return {{}, left};
    Count words = 1;
    for (std::size_t r = 0; r < ranks_; ++r) words *= left.last.sides[r];
    LinkedWords brought{words * neighbours_.all(), words * neighbours_.instances(), 0};
    if (entry.last.any && entry.last.sides == left.last.sides) {
      Position moved{};
      for (std::size_t r = 0; r < ranks_; ++r) moved[r] = left.last.origin[r] - entry.last.origin[r];
      const Neighbours::Served& served = neighbours_.served(moved);
      if (served.distinct < neighbours_.all())
        brought = {words * served.distinct, words * (neighbours_.instances() - served.linked), words * served.linked};
    }
    return {brought, left};
  }

  // What the box newly covers, as sliding.cc has it; `left` learns of the slide.
  News news(const State& entry, State& left) const {
    const News whole{true, {}, sides_};
    if (keeping_ != Keeping::kBoxes || !entry.filled) return whole;
    if (entry.held == Position{}) return {};
    Position moved{};
    for (std::size_t r = 0; r < ranks_; ++r) moved[r] = -entry.held[r];
    left.sliding = !entry.sliding || moved == entry.slide;
    left.slide = left.sliding ? moved : Position{};
    if (!left.sliding) return whole;
    std::size_t axis = ranks_;
    for (std::size_t r = 0; r < ranks_; ++r) {
      if (moved[r] == 0) continue;
      if (axis != ranks_) return whole;
      axis = r;
    }
    if (std::abs(moved[axis]) >= sides_[axis]) return whole;
    News slice = whole;
    slice.sides[axis] = std::abs(moved[axis]);
    if (moved[axis] > 0) slice.origin[axis] = sides_[axis] - moved[axis];
    return slice;
  }

  const std::size_t ranks_;
  Position sides_;
  std::span<const Loop> loops_;
  const Keeping keeping_;
  Neighbours neighbours_;
  std::vector<std::vector<std::pair<State, Outcome>>> known_;
};

}  // namespace

LinkedWords words_with_links(std::size_t ranks, const Position& sides, std::span<const Loop> outermost_first,
                             const Grid& grid, Keeping keeping, bool shared) {
  return Walk(ranks, sides, outermost_first, grid, keeping, shared).words();
}

}  // namespace orrery::nest
