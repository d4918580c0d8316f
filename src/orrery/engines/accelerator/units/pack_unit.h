// Sanger's pack unit, cycle by cycle: a column of a tile's mask a cycle in, for each row the number of the PE's column
// out, and a signal that closes the block.
//
//   write <= any bit of the column;  mask of row i <= its bit ? the column's number : none, while there is any bit
//   full = a row has a bit in this column and `pes` of them in the block already; combinational: emit
//   full:  all counters and the column's number <= 0, and the column is not counted: it comes again in the next block
//   else:  each row's counter += its bit; the number += 1, also for a column that is empty
//
// A block has no limit of columns of its own, and numbers count empty columns, too: what feeds the array must close
// blocks after as many columns as it has ports. Source: Sanger's Pack and Counter (Chisel), read.
#pragma once

#include <cstdint>
#include <vector>

namespace orrery::accelerator {

struct PackShape {
  int height = 64;
  int pes = 16;         // of a row
  int number_bits = 6;  // of a column's number, which wraps round
  std::uint32_t none = 64;
};

class PackUnit {
 public:
  enum class Command { kIdle, kClear, kRead };

  explicit PackUnit(const PackShape& shape);

  // Whether the column closes the block: asked before the cycle in which it is read.
  bool full(const std::vector<std::uint8_t>& column) const;
  void step(Command command, const std::vector<std::uint8_t>& column);

  bool write() const { return write_; }                             // whether the last column had a bit
  const std::vector<std::uint32_t>& mask() const { return mask_; }  // of the last column that had one

 private:
  PackShape shape_;
  bool write_ = false;
  std::uint32_t number_ = 0;
  std::vector<std::uint32_t> mask_, counts_;
};

}  // namespace orrery::accelerator
