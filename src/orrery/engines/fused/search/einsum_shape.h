// An einsum as its search sees it: variables that no tensor and no fan-out tells apart are one class.
//
// Tiles are kept as the places of their extents among the divisors of the classes' bounds, so that dividing is a
// look-up.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "orrery/engines/fused/model/einsum_view.h"
#include "orrery/engines/fused/model/usage.h"

namespace orrery::fused {

inline constexpr int kMostClasses = 8;
using Tile = std::array<std::uint8_t, kMostClasses>;  // by class: a divisor's place

struct VariableClass {
  std::vector<int> members;  // in Problem::variables
  Count bound = 1;
  std::vector<Count> divisors;
  std::vector<double> sizes;                        // the same
  std::vector<std::vector<std::int16_t>> quotient;  // [a][b]: place of divisors[a] / divisors[b]; -1: none

  int place(Count divisor) const;
};

struct EinsumShape {
  // Not all spreads once `ended` says so.
  EinsumShape(const Problem& problem, int einsum, const std::function<bool()>& ended = {});

  int classes() const { return static_cast<int>(all.size()); }
  int class_of(int variable) const;  // -1: its bound is 1
  double size(const Tile& tile, int c) const { return all[c].sizes[tile[c]]; }
  bool relevant(int access, int c) const { return (ranks[access] >> c & 1) != 0; }
  // Words of an access's tile.
  double words(const Tile& tile, int access) const {
    double product = 1;
    for (int c = 0; c < classes(); ++c)
      if (relevant(access, c)) product *= size(tile, c);
    return product;
  }
  // How often the loops outside of `tile` that the access has no rank of come round.
  double repeats(const Tile& tile, int access) const {
    double product = 1;
    for (int c = 0; c < classes(); ++c)
      if (!relevant(access, c)) product *= static_cast<double>(all[c].bound) / size(tile, c);
    return product;
  }
  std::uint32_t number(const Tile& tile) const {
    std::uint32_t at = 0;
    for (int c = 0; c < classes(); ++c) at = at * static_cast<std::uint32_t>(all[c].divisors.size()) + tile[c];
    return at;
  }

  EinsumView view;
  int exchange = -1;       // the exchange level, in Machine::storages
  std::vector<int> inner;  // storages inside of it, outside in
  std::vector<VariableClass> all;
  std::vector<unsigned> ranks;  // by access: its classes
  SpreadList spreads;           // [choice][fanout][class]
  Tile full{};
};

}  // namespace orrery::fused
