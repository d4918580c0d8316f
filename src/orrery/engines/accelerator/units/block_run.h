// A block in the sparse array, cycle by cycle: what its ports and rows are fed, and when its outputs are taken.
//
//   clear         1
//   scores        depth + ports + rows - 1: row r gets element t - r of its scaled query, port m element t - m of its
//   key maximum       1 exponentials  1 values        depth + ports + rows - 1: port m gets element t - m of its value.
//   After cycle n + r + ports the chain
//                 of row r shows output n, which is written in the next cycle: the last one while sums drain already
//   drain         PEs of a row
//
// Numbers are aligned to the sums' point as they enter.
#pragma once

#include <vector>

#include "orrery/engines/accelerator/units/merger_unit.h"
#include "orrery/engines/accelerator/units/sparse_array.h"

namespace orrery::accelerator {

// What a block is run on; [row][depth], [port][depth].
struct BlockOperands {
  SparseArray::Words scores, values;
  std::vector<std::int32_t> query_numbers;  // of each PE row in its tile; -1: none
  std::vector<std::int32_t> queries, keys, value_rows;
  Count depth = 0;
  int query_point = 0;  // of the scaled queries
};

class BlockRun {
 public:
  explicit BlockRun(const Instance& instance);
  void begin(const BlockOperands& block, BlockOutputs& into);
  bool busy() const { return busy_; }
  void step();

 private:
  void feed(const std::vector<std::int32_t>& from, Count count, int point, Count cycle,
            std::vector<std::int64_t>& into);
  void take_outputs(Count cycle);

  const Instance& instance_;
  SparseArray array_;
  const BlockOperands* block_ = nullptr;
  BlockOutputs* into_ = nullptr;
  Timing timing_;
  bool busy_ = false;
  Count cycle_ = 0;
  std::vector<std::int64_t> left_, top_;
};

}  // namespace orrery::accelerator
