// The points that no other one beats: a Pareto front.
//
// A point is beaten by another whose costs are nowhere above its own and somewhere below. Points of equal costs do not
// beat each other.
#pragma once

#include <cstddef>
#include <vector>

namespace orrery::base {

using Costs = std::vector<double>;  // by objective, less is better

bool beats(const Costs& a, const Costs& b);

// Cost vectors that none of them beats. Equal ones are kept once.
class ParetoFront {
 public:
  bool beats(const Costs& costs) const;  // whether one of them does
  void add(const Costs& costs);
  const std::vector<Costs>& all() const { return costs_; }

 private:
  std::vector<Costs> costs_;  // rising in the first objective
};

// The places of the points that no other one beats, rising by their costs, equal ones as they come. Points without
// costs are not compared. Cost: sorting, and a comparison of each point with the front.
std::vector<std::size_t> unbeaten(const std::vector<Costs>& points);

}  // namespace orrery::base
