#include "orrery/engines/fused/search/level_table.h"

#include <stdexcept>
#include <utility>

namespace orrery::fused {
LevelTable::LevelTable(const EinsumShape& shape, Counted counted, Hope& hope)
    : shape_(shape), hope_(hope), inner_(shape, counted, hope) {
  const EinsumView& view = shape.view;
  if (view.accesses() > kMostHolds && shape.exchange >= 0)
    throw std::length_error(view.e.name + " touches more than four tensors");
  for (unsigned outside = 0; outside < 1U << view.accesses(); ++outside) least_inner_.push_back(inner_.least(outside));
  if (shape.exchange < 0) return;
  capacity_ = view.machine.storages[shape.exchange].capacity;
  const Account account{shape, counted};
  for (int a = 0; a < view.accesses(); ++a) {
    const double words = shape.words(shape.full, a);
    const bool output = a == view.e.output();
    Cost each;
    account.add(each, nullptr, 0, a, words, output ? words : 0, 1);
    account.add(each, nullptr, shape.exchange, a, output ? words : 0, words, 1);
    each_.push_back(each);
    Cost saved;
    if (output) account.add(saved, nullptr, 0, a, words, 0, 1);
    if (output) account.add(saved, nullptr, shape.exchange, a, 0, words, 1);
    saved_.push_back(saved);
    word_bits_.push_back(view.word_bits(shape.exchange, a));
  }
}

Cost LevelTable::crossing(const Tile& tile, int access) const {
  Cost cost;
  cost.add(each_[access], shape_.repeats(tile, access));
  cost.add(saved_[access], -1);
  return cost;
}

Cost LevelTable::least(unsigned below, unsigned outside) const {
  Cost cost = least_inner_[outside];
  for (int a = 0; a < shape_.view.accesses(); ++a)
    if ((below >> a & 1) != 0) {
      cost.add(each_[a], 1);
      cost.add(saved_[a], -1);
    }
  return cost;
}

const Cost* LevelTable::least(const Tile& tile, unsigned below, unsigned outside) {
  const Cost* inside = inner_.least(tile, outside);
  if (inside == nullptr) return nullptr;
  bound_ = *inside;
  for (int a = 0; a < shape_.view.accesses(); ++a)
    if ((below >> a & 1) != 0) {
      bound_.add(each_[a], shape_.repeats(tile, a));
      bound_.add(saved_[a], -1);
    }
  return &bound_;
}

const std::vector<Placement>& LevelTable::best(const Tile& tile, unsigned below, unsigned outside, bool alone) {
  const std::uint64_t key = (((alone ? std::uint64_t{1} : 0) << 8 | below) << 8 | outside) << 32 | shape_.number(tile);
  const auto [found, fresh] = best_.try_emplace(key);
  if (!fresh) return found->second;
  Walk walk{outside, alone, {}, 0, found->second, {}};
  place(walk, tile, below);
  return found->second;
}

// The next hold, with `tile` below the last one.
void LevelTable::place(Walk& walk, const Tile& tile, unsigned left) {
  if (left == 0) {
    finish(walk, tile);
    return;
  }
  for (int a = 0; a < shape_.view.accesses(); ++a)
    if ((left >> a & 1) != 0) share(walk, tile, a, 0, left & ~(1U << a));
}

// What of the tile's classes from `cls` on the loops above the hold of `access` take.
bool LevelTable::share(Walk& walk, Tile tile, int access, int cls, unsigned left) {
  while (cls < shape_.classes()) {
    const bool free = walk.holds == 0 || !shape_.relevant(walk.at.order[walk.holds - 1], cls);
    if (free && shape_.relevant(access, cls)) break;
    ++cls;
  }
  if (cls == shape_.classes()) return enter(walk, tile, access, left);
  const std::uint8_t whole = tile[cls];
  const std::vector<std::vector<std::int16_t>>& quotient = shape_.all[cls].quotient;
  std::array<bool, 256> hopeless{};
  for (int size = whole; size >= 0; --size) {
    if (quotient[whole][size] < 0 || hopeless[size]) continue;
    tile[cls] = static_cast<std::uint8_t>(size);
    if (!share(walk, tile, access, cls + 1, left)) continue;
    if (size == whole) return true;
    for (int part = 0; part < size; ++part) hopeless[part] = hopeless[part] || quotient[size][part] >= 0;
  }
  return false;
}

bool LevelTable::enter(Walk& walk, const Tile& tile, int access, unsigned left) {
  const Cost* below = least(tile, left | 1U << access, walk.outside);
  if (below == nullptr) return true;
  Cost bound = walk.at.cost;
  bound.add(*below, 1);
  bound.inside = below->inside;
  if (!hope_.wanted(bound)) return true;
  const Cost cost = walk.at.cost;
  const double bits = walk.at.bits;
  walk.at.bits += shape_.words(tile, access) * word_bits_[access];
  if (walk.at.bits <= capacity_ && !beaten(walk, figures(bound, walk.at.bits, walk.alone))) {
    walk.at.cost.add(crossing(tile, access), 1);
    walk.at.order[walk.holds] = static_cast<std::int8_t>(access);
    walk.at.tiles[walk.holds] = tile;
    ++walk.holds;
    place(walk, tile, left);
    walk.at.order[--walk.holds] = -1;
  }
  walk.at.cost = cost;
  walk.at.bits = bits;
  return false;
}

void LevelTable::finish(Walk& walk, const Tile& tile) {
  for (const InnerNest& nest : inner_.best(tile, walk.outside)) {
    ++priced_;
    Placement one = walk.at;
    one.cost.add(nest.cost, 1);
    one.cost.inside = nest.cost.inside;
    const Figures mine = figures(one.cost, one.bits, walk.alone);
    if (!hope_.wanted(one.cost) || beaten(walk, mine)) continue;
    if (walk.alone) hope_.found(one.cost);
    one.left = tile;
    one.nest = nest;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < walk.out.size(); ++i) {
      if (mine.no_worse(walk.figures[i])) continue;
      if (kept != i) {
        walk.figures[kept] = walk.figures[i];
        walk.out[kept] = walk.out[i];
      }
      ++kept;
    }
    walk.figures.resize(kept);
    walk.out.resize(kept);
    walk.figures.push_back(mine);
    walk.out.push_back(one);
  }
}

LevelTable::Figures LevelTable::figures(const Cost& cost, double bits, bool alone) {
  if (!alone) return {bits, cost};
  return {bits, {cost.energy, {cost.delay(), 0, 0, 0}, 0}};
}

bool LevelTable::beaten(Walk& walk, const Figures& one) {
  for (std::size_t i = 0; i < walk.figures.size(); ++i) {
    if (!walk.figures[i].no_worse(one)) continue;
    std::swap(walk.figures[i], walk.figures[i / 2]);
    std::swap(walk.out[i], walk.out[i / 2]);
    return true;
  }
  return false;
}

}  // namespace orrery::fused
