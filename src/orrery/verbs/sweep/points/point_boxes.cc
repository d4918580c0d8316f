#include "orrery/verbs/sweep/points/point_boxes.h"

#include <algorithm>
#include <cmath>

namespace orrery::sweep {

std::uint64_t Box::points() const {
  std::uint64_t out = 1;
  for (const Side& side : sides) out *= side.size();
  return out;
}

Box whole(const Study& study) {
  Box out;
  for (const Group& group : study.groups) out.sides.push_back({0, group.size()});
  return out;
}

Choices choices_of(const Study& study, const Box& box) {
  Choices out(box.sides.size());
  for (std::size_t g = 0; g < box.sides.size(); ++g)
    for (std::size_t value = box.sides[g].begin; value < box.sides[g].end; ++value) {
      base::Overrides set;
      for (const Axis& axis : study.groups[g].axes) set.push_back({axis.path, axis.values[value]});
      out[g].push_back(std::move(set));
    }
  return out;
}

void each_point(const Study& study, const Box& box, const std::function<bool(Point)>& take) {
  std::vector<std::size_t> at;
  for (const Side& side : box.sides) at.push_back(side.begin);
  for (;;) {
    Point point = 0;
    for (std::size_t g = 0; g < at.size(); ++g) point = point * study.groups[g].size() + at[g];
    if (!take(point)) return;
    std::size_t g = at.size();
    while (g > 0 && ++at[g - 1] == box.sides[g - 1].end) --g, at[g] = box.sides[g].begin;
    if (g == 0) return;
  }
}

std::size_t Halving::side_of(const Box& box) const {
  std::size_t best = box.sides.size();
  const auto before = [&](std::size_t a, std::size_t b) {
    if (apart_[a] != apart_[b]) return static_cast<bool>(apart_[a]);
    if (apart_[a]) return box.sides[a].size() > box.sides[b].size();
    if ((tries_[a] == 0) != (tries_[b] == 0)) return tries_[a] == 0;
    if (tries_[a] == 0) return box.sides[a].size() > box.sides[b].size();
    const double one = gain_[a] / static_cast<double>(tries_[a]), other = gain_[b] / static_cast<double>(tries_[b]);
    return one != other ? one > other : box.sides[a].size() > box.sides[b].size();
  };
  for (std::size_t g = 0; g < box.sides.size(); ++g)
    if (box.sides[g].size() > 1 && (best == box.sides.size() || before(g, best))) best = g;
  return best;
}

bool Halving::apart(const Box& box) const {
  for (std::size_t g = 0; g < box.sides.size(); ++g)
    if (apart_[g] && box.sides[g].size() > 1) return true;
  return false;
}

std::pair<Box, Box> Halving::halves(const Box& box, std::size_t side) {
  Box one = box, other = box;
  one.sides[side].end = other.sides[side].begin = box.sides[side].begin + box.sides[side].size() / 2;
  return {std::move(one), std::move(other)};
}

void Halving::learn(std::size_t side, const Costs& before, const Costs& one, const Costs& other) {
  double gain = 0;
  for (std::size_t o = 0; o < before.size(); ++o) {
    const double scale = std::abs(before[o]);
    if (!std::isfinite(scale) || scale == 0) continue;
    for (const Costs* half : {&one, &other})
      if (std::isfinite((*half)[o])) gain += ((*half)[o] - before[o]) / scale / 2;
  }
  gain_[side] += gain;
  ++tries_[side];
}

}  // namespace orrery::sweep
