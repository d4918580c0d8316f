#include "orrery/engines/fused/search/inner_table.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace orrery::fused {
namespace {

constexpr std::uint32_t kMostTiles = 1U << 22;
constexpr std::size_t kTilesBetweenDrops = 16;

}  // namespace

InnerTable::InnerTable(const EinsumShape& shape, Counted counted, Hope& hope)
    : shape_(shape), hope_(hope), lines_(nest_lines(shape, counted, hope)) {
  if (!hope.ended())
    std::stable_sort(lines_.begin(), lines_.end(),
                     [](const NestLine& a, const NestLine& b) { return a.unit_latency < b.unit_latency; });
  for (const NestLine& line : lines_)
    if (line.free.size() > kMostFree) throw std::length_error(shape.view.e.name + " has too many places for its loops");
  used_.resize(shape.view.machine.storages.size());
  inside_.resize(ports_inside(shape));
  for (const VariableClass& one : shape.all) tiles_ *= static_cast<std::uint32_t>(one.divisors.size());
  if (tiles_ > kMostTiles) throw std::length_error(shape.view.e.name + " has too many tiles");
  places_.resize(std::size_t{1} << shape.view.accesses());
  const std::vector<double> once(shape.view.accesses(), 1);
  for (std::uint32_t i = 0; i < lines_.size() && !hope.ended(); ++i) {
    wanted_.push_back(i);
    least_.push_back(least(lines_[i], 0, once));
    for (unsigned outside = 1; outside < places_.size() && shape.exchange >= 0; ++outside)
      least_.back().lower(least(lines_[i], outside, once));
  }
}

// What is found makes lines hopeless for all tiles, such as those that leave most instances idle.
void InnerTable::drop_unwanted() {
  std::erase_if(wanted_, [&](std::uint32_t i) { return !hope_.wanted(least_[i]); });
}

const InnerTable::Entry& InnerTable::entry(const Tile& tile, unsigned outside) {
  std::vector<std::int32_t>& places = places_[outside];
  if (places.empty()) places.assign(tiles_, -1);
  std::int32_t& place = places[shape_.number(tile)];
  if (place >= 0) return entries_[place];
  place = static_cast<std::int32_t>(entries_.size());
  if (entries_.size() % kTilesBetweenDrops == 0) drop_unwanted();
  Entry& made = entries_.emplace_back();
  std::vector<double> repeats;
  for (int a = 0; a < shape_.view.accesses(); ++a) repeats.push_back(shape_.repeats(tile, a));
  for (const std::uint32_t i : wanted_) {
    if (hope_.ended()) break;
    const NestLine& line = lines_[i];
    const Cost bound = least(line, outside, repeats);
    if (!hope_.wanted(bound) ||
        std::any_of(made.nests.begin(), made.nests.end(), [&](const InnerNest& n) { return n.cost.no_worse(bound); }))
      continue;
    Walk walk{line, tile, outside, i, {}, {}, made.nests, hope_.most_nests()};
    bool divides = true;
    for (int c = 0; c < shape_.classes() && divides; ++c) {
      const int left = shape_.all[c].quotient[tile[c]][line.parts[c]];
      divides = left >= 0;
      walk.left[c] = static_cast<std::uint8_t>(left);
    }
    if (!divides) continue;
    const Tile left = walk.left;
    fill(walk, 0);
    if (walk.most > 0 || !made.nests.empty()) continue;
    walk.left = left;
    smallest(walk);
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
  for (std::uint8_t count = 0; count <= left && walk.most > 0 && !hope_.ended(); ++count) {
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

// The nest with the smallest tiles: where it has no room, no other one has.
void InnerTable::smallest(Walk& walk) {
  for (std::size_t f = 0; f < walk.line.free.size(); ++f) {
    std::uint8_t& left = walk.left[walk.line.free[f].cls];
    walk.counts[f] = left;
    left = 0;
  }
  price(walk);
}

bool InnerTable::price(Walk& walk) {
  ++priced_;
  walk.most -= 1;
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

Cost InnerTable::least(const NestLine& line, unsigned outside, const std::vector<double>& repeats) {
  Cost one;
  inside_ = line.fixed_inside;
  for (std::size_t a = 0; a < line.fixed.size(); ++a) one.add(line.fixed[a][outside >> a & 1], 1);
  for (const NestLine::Hold& hold : line.holds) {
    one.add(hold.cost[outside >> hold.access & 1], repeats[hold.access]);
    for (std::size_t p = 0; p < inside_.size(); ++p) inside_[p] += hold.inside[p] * repeats[hold.access];
  }
  one.inside = line.unit_latency;
  for (const double port : inside_) one.inside = std::max(one.inside, port);
  return one;
}

Cost InnerTable::least(unsigned outside) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  Cost all{kNone, {kNone, kNone, kNone, kNone}, kNone};
  const std::vector<double> once(shape_.view.accesses(), 1);
  for (const NestLine& line : lines_) {
    if (hope_.ended()) return {};
    all.lower(least(line, outside, once));
  }
  return all;
}

}  // namespace orrery::fused
