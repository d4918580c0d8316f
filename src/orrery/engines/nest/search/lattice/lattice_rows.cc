#include "orrery/engines/nest/search/lattice/lattice_rows.h"

#include <algorithm>
#include <array>
#include <limits>

namespace orrery::nest::lattice {

namespace {

constexpr float kLatticeRowsNone = std::numeric_limits<float>::infinity();

}  // namespace

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define ORRERY_FOR_WIDE_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define ORRERY_FOR_WIDE_VECTORS
#endif

ORRERY_FOR_WIDE_VECTORS
void least_of_ways(std::span<const Way> ways, std::span<const Pair> pairs, std::size_t first, std::size_t others,
                   const int* extent, float* to) {
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    const Pair pair = pairs[k];
    float* __restrict const row = to + (first + k) * others;
    const std::size_t all = extent ? static_cast<std::size_t>(extent[pair.from]) : others;
    for (std::size_t o = 0; o < all; ++o) row[o] = kLatticeRowsNone;
    for (const Way& way : ways) {
      const float rest = way.rest + (way.run ? way.run[pair.reached] : 0.0f);
      const std::size_t count = way.extent ? static_cast<std::size_t>(way.extent[pair.from]) : all;
      if (rest == kLatticeRowsNone) continue;
      std::array<const float*, 3> terms{};
      int used = 0;
      if (way.base) terms[used++] = way.base + (first + k) * others;
      if (way.tile) terms[used++] = way.tile + pair.from * others;
      if (way.own) terms[used++] = way.own;
      const float* __restrict const one = terms[0];
      const float* __restrict const two = terms[1];
      const float* __restrict const three = terms[2];
      if (used == 0) {
        for (std::size_t o = 0; o < count; ++o) row[o] = rest < row[o] ? rest : row[o];
      } else if (used == 1) {
        for (std::size_t o = 0; o < count; ++o) {
          const float cost = one[o] + rest;
          row[o] = cost < row[o] ? cost : row[o];
        }
      } else if (used == 2) {
        for (std::size_t o = 0; o < count; ++o) {
          const float cost = one[o] + two[o] + rest;
          row[o] = cost < row[o] ? cost : row[o];
        }
      } else {
        for (std::size_t o = 0; o < count; ++o) {
          const float cost = one[o] + two[o] + (three[o] + rest);
          row[o] = cost < row[o] ? cost : row[o];
        }
      }
    }
  }
}

ORRERY_FOR_WIDE_VECTORS
void least_of_runs(std::span<const Pair> pairs, const float* rows, std::size_t others, std::size_t size, float* to) {
  std::fill(to, to + size * others, kLatticeRowsNone);
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    if (pairs[k].from == pairs[k].reached) continue;
    float* __restrict const least = to + pairs[k].reached * others;
    const float* __restrict const row = rows + k * others;
    for (std::size_t o = 0; o < others; ++o) least[o] = row[o] < least[o] ? row[o] : least[o];
  }
}

ORRERY_FOR_WIDE_VECTORS
void take_least_by_tile(std::span<const Pair> pairs, const float* tiles, std::size_t others, float* rows) {
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    float* __restrict const row = rows + k * others;
    const float* __restrict const tile = tiles + pairs[k].from * others;
    for (std::size_t o = 0; o < others; ++o) row[o] = tile[o] < row[o] ? tile[o] : row[o];
  }
}

// Smaller divisors first: each hands what it has on to its prime multiples.
ORRERY_FOR_WIDE_VECTORS
void take_least_of_divisors(const std::vector<std::vector<int>>& multiples, std::size_t outer, std::size_t inner,
                            float* table) {
  const std::size_t size = multiples.size();
  for (std::size_t o = 0; o < outer; ++o, table += size * inner)
    for (std::size_t x = 0; x < size; ++x) {
      const float* __restrict const from = table + x * inner;
      for (const int m : multiples[x]) {
        float* __restrict const to = table + m * inner;
        for (std::size_t i = 0; i < inner; ++i) to[i] = from[i] < to[i] ? from[i] : to[i];
      }
    }
}

}  // namespace orrery::nest::lattice
