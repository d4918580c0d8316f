// Parts of a study, halved until what none of their points can undercut excludes them, or a point is left.
//
// A box is an interval of each group's values. Halving a group whose values matter raises the bounds of both halves;
// one that does not matter raises nothing. Which is which is learned as in branch and bound over integers: each group's
// mean relative gain so far, untried ones first (pseudo-costs; Benichou et al., Experiments in mixed-integer linear
// programming, 1971). Groups of whose values nothing can be said together are halved before all others.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "orrery/verbs/sweep/engines/engine.h"
#include "orrery/verbs/sweep/points/ranking.h"
#include "orrery/verbs/sweep/points/study.h"

namespace orrery::sweep {

struct Side {
  std::size_t begin = 0, end = 0;  // values of a group
  std::size_t size() const { return end - begin; }
};

struct Box {
  std::vector<Side> sides;  // by group
  Costs bounds;             // by objective; no point of it is below
  double excess = 0;        // no point of it has a smaller share of its budgets (excess_of)
  bool over() const { return excess > 1; }

  std::uint64_t points() const;
};

Box whole(const Study& study);
// What each group may set in the box.
Choices choices_of(const Study& study, const Box& box);
// Rising numbers; ends when `take` says false.
void each_point(const Study& study, const Box& box, const std::function<bool(Point)>& take);

// Which side to halve.
class Halving {
 public:
  // `apart`: groups of whose values nothing can be said together.
  explicit Halving(std::vector<bool> apart) : apart_(std::move(apart)), gain_(apart_.size()), tries_(apart_.size()) {}
  std::size_t side_of(const Box& box) const;
  // Whether a group is left of whose values nothing can be said together.
  bool apart(const Box& box) const;
  static std::pair<Box, Box> halves(const Box& box, std::size_t side);
  // What halving a side brought: the bounds before, and of both halves.
  void learn(std::size_t side, const Costs& before, const Costs& one, const Costs& other);

 private:
  std::vector<bool> apart_;
  std::vector<double> gain_;
  std::vector<std::size_t> tries_;
};

}  // namespace orrery::sweep
