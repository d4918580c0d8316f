// The quantiser, cycle by cycle: rows of numbers in, codes and a factor a row out.
//
// Stages of a row of `depth` elements, `lanes` a cycle, c = ceil(depth / lanes), w the norm's bits:
//   squares  c cycles: the sum of squares, w x 2 bits
//   root     w cycles: a bit of the norm a cycle
//   lead     1 cycle: the norm shifted so that its first bit is 1
//   divide   17 cycles: a bit of the quotient a cycle
//   codes    c cycles: `lanes` codes a cycle, of the row read again; in the first of them its factor
//
// Rows follow each other every c cycles: n of them take n c + w + 18 + c. Arithmetic: row_codes.h.
#pragma once

#include <deque>
#include <vector>

#include "orrery/engines/accelerator/units/divider.h"
#include "orrery/engines/accelerator/units/row_codes.h"

namespace orrery::accelerator {

class QuantiserUnit {
 public:
  // Rows [row][depth], which are read twice; they must stay.
  QuantiserUnit(const QuantiserConstants& constants, Count lanes);
  void begin(const std::int32_t* rows, Count count, Count depth);

  bool busy() const { return busy_; }
  void step();

  // Of the rows so far.
  const std::vector<std::int8_t>& codes() const { return codes_; }
  const std::vector<std::uint64_t>& factors() const { return factors_; }
  Count clipped() const { return clipped_; }

 private:
  void take_codes();

  QuantiserConstants constants_;
  Count lanes_;
  const std::int32_t* rows_ = nullptr;
  Count count_ = 0, depth_ = 0, chunks_ = 0;
  bool busy_ = false;
  Count cycle_ = 0, tail_ = 0;
  // Registers.
  std::uint64_t squares_ = 0;
  bool summed_ = false;
  SquareRoot root_;
  struct Lead {
    bool there = false;
    std::uint64_t norm = 0, shifted = 0;
    int zeros = 0;
  } lead_;
  Divider divider_;
  Divider::Result rooted_;
  std::deque<Lead> dividing_;  // travels with the quotient
  RowScale scale_;
  Count coded_row_ = -1, coded_chunk_ = 0;
  Count next_row_ = 0;
  std::vector<std::int8_t> codes_;
  std::vector<std::uint64_t> factors_;
  Count clipped_ = 0;
};

}  // namespace orrery::accelerator
