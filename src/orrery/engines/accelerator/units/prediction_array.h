// Sanger's array that predicts scores, bit by bit and cycle by cycle: sums of products of unsigned codes of four bits
// stay where they are, queries pass from left to right and keys from top to bottom; then sums move right, through one
// exponential unit a row.
//
//   a PE calculating:  v <= top, h <= left, s <= s + v h with the v and h that it had, modulo 2^sum_bits
//   a PE moving:       s <= s of its left neighbour, 0 in the first column
//   each row:          exp <= e(s of the last column), read with `point` bits behind the point; sum <= 0, or sum + exp
//
// Codes of row r enter r cycles late, those of column c c cycles late: with depth d all sums are there after
// d + (width - 1) + (height - 1) + 1 cycles. They drain in width + 1. Source: Sanger's Dense_PE_Array (Chisel), read.
// Cost of a cycle: width x height multiply-adds.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/engines/accelerator/units/exp_unit.h"

namespace orrery::accelerator {

struct PredictionShape {
  FixedPoint format{20, 8};  // of exponentials and their sums
  int append = 0;            // zero bits that a sum gets behind it before it is read as a fixed-point number
  int sum_bits = 11;
  int width = 8, height = 8;
};

class PredictionArray {
 public:
  enum class Pe { kIdle, kClear, kCalculate, kMove };
  enum class Sum { kIdle, kClear, kAdd };

  explicit PredictionArray(const PredictionShape& shape);

  // One cycle. `left` has a code for each row, `top` one for each column: 0 to 15.
  void step(Pe pe, Sum sum, const std::vector<std::uint8_t>& left, const std::vector<std::uint8_t>& top);

  // As they stand before the next cycle.
  std::uint32_t score(int row, int column) const { return sums_[place(row, column)]; }
  std::int64_t exponential(int row) const { return exponentials_[static_cast<std::size_t>(row)]; }
  std::int64_t sum(int row) const { return totals_[static_cast<std::size_t>(row)]; }

  const PredictionShape& shape() const { return shape_; }

 private:
  std::size_t place(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(shape_.width) + static_cast<std::size_t>(column);
  }

  PredictionShape shape_;
  ExpUnit unit_;
  std::vector<std::uint8_t> vertical_, horizontal_;
  std::vector<std::uint32_t> sums_;
  std::vector<std::int64_t> exponentials_, totals_;
};

}  // namespace orrery::accelerator
