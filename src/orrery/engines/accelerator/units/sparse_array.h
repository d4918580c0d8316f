// Sanger's reconfigurable array, bit by bit and cycle by cycle: scores of kept entries, their exponentials, and the
// values weighted by them, all in the PEs that the entries were packed to.
//
// A PE has an accumulator, an exponential and a chain of ports - pes registers; two multiplexers, of ports + 2 and
// ports + 1 inputs, choose what it multiplies:
//
//   a = c1 < ports ? query register c1 of its row : c1 == ports ? its exponential : 0
//   b = c2 < ports ? key register c2 of its row : 0;       c = the low bits of (a b) >> point, floored
//   c3: clear    accumulator and chain <= 0
//       own      accumulator += c                                         (scores stay)
//       chain    accumulator <= what comes from the left + c, the chain takes the accumulator, and what it had c4
//       cycles
//                ago goes to the right                                     (values pass)
//   c5: take     exponential <= e(accumulator);    move: exponential <= that of the left neighbour, 0 in the first PE
//
// Query registers of a row shift by one a cycle from the left input; keys enter at the top and pass one row a cycle. A
// row's output is what its last PE sends to the right while c3 chains. While exponentials move, the last PE's is added
// to the row's sum. Source: Sanger's PE, PE_Row and Sparse_PE_Array (Chisel), read.
//
// Orrery's own addition, for scores of any size; a PE with c1 <= ports has an entry, the others are idle:
//
//   c5: most       the row's maximum <= the largest accumulator of its PEs with entries; the least number without any
//       take below exponential <= e(accumulator - maximum) by signed_exp_unit.h; 0 in an idle PE
//
// Registers that all shift together are rings here, of which the head moves, so that a cycle costs the PEs' arithmetic
// alone: some nanoseconds a PE.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/engines/accelerator/units/exp_unit.h"
#include "orrery/engines/accelerator/units/signed_exp_unit.h"

namespace orrery::accelerator {

struct SparseShape {
  FixedPoint format{32, 16};
  int pes = 16, ports = 64, rows = 64;  // PEs of a row, columns of keys, rows
};

class SparseArray {
 public:
  enum class Sums { kClear, kIdle, kOwn, kChain };                     // c3
  enum class Exponentials { kIdle, kTake, kMove, kMost, kTakeBelow };  // c5

  explicit SparseArray(const SparseShape& shape, const ExpShape& exponential = {});

  // c1, c2 and c4 of every PE, row by row.
  struct Words {
    std::vector<std::uint16_t> a, b, delay;
  };

  // One cycle: `left` has a number for each row, `top` one for each port; null: zeros. `clear` empties the registers of
  // queries and keys and the sums.
  void step(Sums sums, Exponentials exponentials, bool clear, const Words& words, const std::int64_t* left,
            const std::int64_t* top);

  std::int64_t accumulator(int row, int pe) const { return accumulators_[place(row, pe)]; }
  std::int64_t exponential(int row, int pe) const { return exponentials_[place(row, pe)]; }
  std::int64_t output(int row, const Words& words) const;  // of the row, while c3 chains
  std::int64_t sum(int row) const { return totals_[static_cast<std::size_t>(row)]; }
  std::int64_t maximum(int row) const { return maxima_[static_cast<std::size_t>(row)]; }

  const SparseShape& shape() const { return shape_; }

 private:
  std::size_t place(int row, int pe) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(shape_.pes) + static_cast<std::size_t>(pe);
  }
  std::int64_t sent(std::size_t pe, std::size_t delay) const;
  void take_below(std::size_t row, bool maximum, const Words& words);

  SparseShape shape_;
  ExpUnit unit_;
  SignedExpUnit below_;
  std::size_t chain_ = 0;                     // registers of a PE's chain
  std::size_t head_ = 0, chain_head_ = 0;     // of the rings
  std::vector<std::int64_t> queries_, keys_;  // rings: [row][port], [row][port] by time
  std::vector<std::int64_t> accumulators_, exponentials_, chains_, totals_, maxima_;
};

}  // namespace orrery::accelerator
