#include "orrery/engines/fused/search/inner_table.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace orrery::fused {
namespace {

constexpr std::uint32_t kMostTiles = 1U << 24;

}  // namespace

InnerTable::InnerTable(const EinsumShape& shape, Counted counted) : shape_(shape), lines_(nest_lines(shape, counted)) {
  for (const NestLine& line : lines_)
    if (line.free.size() > kMostFree) throw std::length_error(shape.view.e.name + " has too many places for its loops");
  used_.resize(shape.view.machine.storages.size());
  inside_.resize(ports_inside(shape));
  for (const VariableClass& one : shape.all) tiles_ *= static_cast<std::uint32_t>(one.divisors.size());
  if (tiles_ > kMostTiles) throw std::length_error(shape.view.e.name + " has too many tiles");
  places_.resize(std::size_t{1} << shape.view.accesses());
}

const InnerTable::Entry& InnerTable::entry(const Tile& tile, unsigned outside) {
  std::vector<std::int32_t>& places = places_[outside];
  if (places.empty()) places.assign(tiles_, -1);
  std::int32_t& place = places[shape_.number(tile)];
  if (place >= 0) return entries_[place];
  place = static_cast<std::int32_t>(entries_.size());
  Entry& made = entries_.emplace_back();
  for (std::uint32_t i = 0; i < lines_.size(); ++i) {
    const NestLine& line = lines_[i];
    Walk walk{line, tile, outside, i, {}, {}, made.nests};
    bool divides = true;
    for (int c = 0; c < shape_.classes() && divides; ++c) {
      const int left = shape_.all[c].quotient[tile[c]][line.parts[c]];
      divides = left >= 0;
      walk.left[c] = static_cast<std::uint8_t>(left);
    }
    if (divides) fill(walk, 0);
  }
  if (!made.nests.empty()) made.least = made.nests.front().cost;
  for (const InnerNest& nest : made.nests) made.least.lower(nest.cost);
  return made;
}

const std::vector<InnerNest>& InnerTable::best(const Tile& tile, unsigned outside) {
  return entry(tile, outside).nests;
}

const Cost* InnerTable::least(const Tile& tile, unsigned outside) {
  const Entry& one = entry(tile, outside);
  return one.nests.empty() ? nullptr : &one.least;
}

// Tries shares of the free blocks, rising. Whether nothing had to go into this block and the next ones.
bool InnerTable::fill(Walk& walk, std::size_t free) {
  if (free == walk.line.free.size()) return price(walk);
  const int c = walk.line.free[free].cls;
  const std::uint8_t left = walk.left[c];
  const std::vector<std::int16_t>& quotient = shape_.all[c].quotient[left];
  bool innermost = false;
  for (std::uint8_t count = 0; count <= left; ++count) {
    if (quotient[count] < 0) continue;
    walk.counts[free] = count;
    walk.left[c] = static_cast<std::uint8_t>(quotient[count]);
    if (fill(walk, free + 1)) {
      innermost = count == 0;
      break;
    }
  }
  walk.left[c] = left;
  walk.counts[free] = 0;
  return innermost;
}

bool InnerTable::price(Walk& walk) {
  ++priced_;
  const NestLine& line = walk.line;
  const int classes = shape_.classes();
  std::array<double, kMostClasses> above;  // temporal loops
  std::array<double, kMostClasses> most;   // all of them
  for (int c = 0; c < classes; ++c) {
    const auto bound = static_cast<double>(shape_.all[c].bound);
    above[c] = bound / shape_.size(walk.tile, c);
    most[c] = bound / shape_.all[c].sizes[line.parts[c]];
  }
  InnerNest nest;
  nest.line = walk.number;
  nest.counts = walk.counts;
  std::fill(used_.begin(), used_.end(), 0);
  inside_ = line.fixed_inside;
  for (std::size_t a = 0; a < line.fixed.size(); ++a) nest.cost.add(line.fixed[a][walk.outside >> a & 1], 1);
  for (int h = 0; h < static_cast<int>(line.holds.size()); ++h) {
    const NestLine::Hold& hold = line.holds[h];
    for (std::size_t f = 0; f < line.free.size(); ++f)
      if (line.free[f].block == h) above[line.free[f].cls] *= shape_.all[line.free[f].cls].sizes[walk.counts[f]];
    double repeats = 1;
    double words = 1;
    for (int c = 0; c < classes; ++c) {
      if (line.rest[c] == h) above[c] = most[c];
      if (shape_.relevant(hold.access, c))
        words *= static_cast<double>(shape_.all[c].bound) / (above[c] * hold.parts[c]);
      else
        repeats *= above[c];
    }
    used_[hold.storage] += words * hold.bits;
    if (used_[hold.storage] > shape_.view.capacity(hold.storage)) return false;
    nest.cost.add(hold.cost[walk.outside >> hold.access & 1], repeats);
    for (std::size_t p = 0; p < inside_.size(); ++p) inside_[p] += hold.inside[p] * repeats;
  }
  nest.cost.inside = line.unit_latency;
  for (const double port : inside_) nest.cost.inside = std::max(nest.cost.inside, port);
  keep_unbeaten(walk.out, nest, [](const InnerNest& x, const InnerNest& y) { return x.cost.no_worse(y.cost); });
  return true;
}

Cost InnerTable::least(unsigned outside) const {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  Cost least{kNone, {kNone, kNone, kNone, kNone}, kNone};
  for (const NestLine& line : lines_) {
    Cost one;
    std::vector<double> inside = line.fixed_inside;
    for (std::size_t a = 0; a < line.fixed.size(); ++a) one.add(line.fixed[a][outside >> a & 1], 1);
    for (const NestLine::Hold& hold : line.holds) {
      one.add(hold.cost[outside >> hold.access & 1], 1);
      for (std::size_t p = 0; p < inside.size(); ++p) inside[p] += hold.inside[p];
    }
    one.inside = line.unit_latency;
    for (const double port : inside) one.inside = std::max(one.inside, port);
    least.lower(one);
  }
  return least;
}

}  // namespace orrery::fused
