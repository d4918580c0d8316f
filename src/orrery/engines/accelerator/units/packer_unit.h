// The packer, cycle by cycle: Sanger's pack unit and what was missing around it.
//
// A column of the tile's mask a cycle, ascending. An empty one passes by. One that makes a row overfull, or comes when
// the block has as many columns as the array has ports, closes the block in its cycle and is presented again in the
// next one; the tile's end takes a cycle, too, in which the last block closes, if there is one. So a tile of K keys and
// b blocks takes K + max(b, 1) cycles. Columns are numbered as they are written: the pack unit sees no empty ones, and
// its numbers are ports. Blocks are those of masks::pack_as_sanger().
#pragma once

#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/engines/accelerator/units/pack_unit.h"
#include "orrery/engines/masks/packing/packing.h"

namespace orrery::accelerator {

using base::Count;

// A block in the buffer: its keys, a bit for each port and row, and how many entries each row has.
struct PackedColumns {
  std::vector<std::int32_t> keys;
  std::vector<std::uint8_t> bits;     // [port][row]
  std::vector<std::uint32_t> counts;  // of each row
  Count cycles = 0;                   // that packing it took
};

class PackerUnit {
 public:
  explicit PackerUnit(const masks::PackArray& array);
  void begin();  // of a tile

  // One cycle, in which `column` is presented: whether it has been taken. It has not where it closed a block.
  bool step(std::int32_t key, const std::vector<std::uint8_t>& column);
  // The cycle at the tile's end: whether it closed a block.
  bool end();

  // The block that was closed last.
  const PackedColumns& closed() const { return closed_; }

 private:
  void close();

  masks::PackArray array_;
  PackUnit unit_;
  PackedColumns open_, closed_;
};

}  // namespace orrery::accelerator
