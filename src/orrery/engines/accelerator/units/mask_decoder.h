// The mask decoder, cycle by cycle: a packed block to the words that the sparse array's multiplexers take.
//
// One port a cycle, all rows beside each other. Where a row's bit is set, the row's next PE takes the port; else, while
// the row has fewer idle PEs than it must (PEs - its entries), the next PE takes it as an idle one, with zero for an
// operand. A PE's delay follows when the next one takes its port: the difference less 1; the last one's is what is left
// of the ports. After `ports` cycles every PE has a port of its own, ascending. Words are those of
// masks::control_words().
#pragma once

#include <vector>

#include "orrery/engines/accelerator/units/packer_unit.h"
#include "orrery/engines/accelerator/units/sparse_array.h"

namespace orrery::accelerator {

class MaskDecoder {
 public:
  explicit MaskDecoder(const masks::PackArray& array);
  // `counts` of each row's entries.
  void begin(const std::vector<std::uint32_t>& counts);
  // Port by port; `bits` of each row, null: none.
  void step(const std::uint8_t* bits);

  bool busy() const { return port_ < array_.ports; }
  // While scores are computed, and while values are.
  const SparseArray::Words& scores() const { return scores_; }
  const SparseArray::Words& values() const { return values_; }

 private:
  masks::PackArray array_;
  Count port_ = 0;
  std::vector<std::uint32_t> next_, idle_;  // of each row: the next PE, idle PEs left
  SparseArray::Words scores_, values_;
};

}  // namespace orrery::accelerator
