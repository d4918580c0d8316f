// The merger, cycle by cycle: outputs of blocks into a tile's accumulators, then these into outputs.
//
//   a block    1 cycle: the first PE row's weights; then c = ceil(depth / lanes) cycles for each PE row of the array,
//   `lanes`
//              elements a cycle; the last of them finds the weights of the next row
//   outputs    25 cycles until the first sum's reciprocal is there; c cycles a query. Sums enter the divider every c
//              cycles; accumulators are cleared as they are read
//
// So a block takes 1 + rows c cycles, n outputs n c + 25. Rows without a query, or without an entry, change nothing.
// Two PE rows may serve one query: its M and S are there when the next row asks. Arithmetic: merger_arithmetic.h.
#pragma once

#include <vector>

#include "orrery/engines/accelerator/units/divider.h"
#include "orrery/engines/accelerator/units/merger_arithmetic.h"

namespace orrery::accelerator {

// What a block leaves in the output buffer.
struct BlockOutputs {
  std::vector<std::int32_t> queries;    // of each PE row: its number in the tile; -1: none
  std::vector<std::int64_t> most, sum;  // of each PE row; `most` is the least number without an entry
  std::vector<std::int64_t> elements;   // [PE row][depth]
};

class MergerUnit {
 public:
  MergerUnit(const Instance& instance, Count queries);
  void merge(const BlockOutputs& block, Count depth);
  void normalise(Count queries, Count depth);

  bool busy() const { return busy_; }
  void step();

  // [query][depth], when it is no longer busy.
  const std::vector<std::int32_t>& outputs() const { return outputs_; }
  Count saturated() const { return saturated_; }

 private:
  void step_merge();
  void step_normalise();
  void weigh(Count row);

  MergerArithmetic arithmetic_;
  Count lanes_, rows_;
  // Accumulators.
  std::vector<std::int64_t> most_, sum_, elements_;
  const BlockOutputs* block_ = nullptr;
  bool busy_ = false;
  Count cycle_ = 0, depth_ = 0, chunks_ = 0, queries_ = 0;
  MergerArithmetic::Weights weights_;
  Divider divider_;
  std::int64_t reciprocal_ = 0;
  std::vector<std::int32_t> outputs_;
  Count saturated_ = 0;
};

}  // namespace orrery::accelerator
