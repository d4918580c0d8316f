// Sweeps over tables that hold a figure for each tile and each divisor ahead of it, row by row.
//
// A row has one figure for each tile that agrees in dimension c, the other two dimensions running, the last one
// fastest. Rows are as long as a few vectors to some thousand figures, and the sweeps do nothing but add and compare,
// so that they take as long as their operands take to be read: some 0.1 ns for each figure and operand from the nearest
// cache.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace orrery::nest::lattice {

// A tile's divisor in dimension c and a multiple of it, by index.
struct Pair {
  int from = 0, reached = 0;
};

// One way to come by a figure: the sum of what is given. Figures are parts of 1; above that they are of no interest.
struct Way {
  const float* base = nullptr;  // [pair][others]
  const float* tile = nullptr;  // [from][others]
  const float* own = nullptr;   // [others]
  const float* run = nullptr;   // [reached]
  const int* extent = nullptr;  // [from]: from so many others on the sum is infinite
  float rest = 0;
};

// to[k][o] = the least over `ways` for pairs[k], the rows one behind the other; with `extent`, of so many others only.
void least_of_ways(std::span<const Way> ways, std::span<const Pair> pairs, std::size_t first, std::size_t others,
                   const int* extent, float* to);

// to[reached] = the least of the rows of all pairs that reach it from something smaller; infinite where there is none.
void least_of_runs(std::span<const Pair> pairs, const float* rows, std::size_t others, std::size_t size, float* to);

// rows[k] = min(rows[k], tiles[from])
void take_least_by_tile(std::span<const Pair> pairs, const float* tiles, std::size_t others, float* rows);

// [outer][divisor][inner]: each divisor takes the least of those that divide it; `multiples` are the prime ones.
void take_least_of_divisors(const std::vector<std::vector<int>>& multiples, std::size_t outer, std::size_t inner,
                            float* table);

}  // namespace orrery::nest::lattice
