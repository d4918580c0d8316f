#include "orrery/engines/accelerator/run_plan.h"

#include <algorithm>

#include "orrery/base/diagnostics/check.h"

namespace orrery::accelerator {
namespace {

// One more than the last of a sequence's tokens that is there.
Count last_of(const std::vector<std::uint8_t>& valid, Count batch, Count tokens) {
  Count last = tokens;
  if (valid.empty()) return last;
  while (last > 0 && valid[static_cast<std::size_t>(batch * tokens + last - 1)] == 0) --last;
  return last;
}

}  // namespace

Count keys_of_tile(const masks::MaskShape& shape, bool causal, Count keys, Count last_query) {
  return causal ? std::clamp<Count>(last_query + shape.columns - shape.rows, 0, keys) : keys;
}

RunPlan planned_tiles(const Instance& instance, const Work& work) {
  const masks::MaskShape& shape = work.shape;
  const auto& rows = work.mask != nullptr ? work.mask->valid_rows : work.valid_rows;
  const auto& columns = work.mask != nullptr ? work.mask->valid_columns : work.valid_columns;
  const bool causal = work.mask != nullptr ? work.mask->causal : work.causal;
  RunPlan plan;
  plan.predicts = work.prediction.has_value(), plan.packed = work.packing != nullptr;
  for (Count b = 0; b < shape.batch; ++b) {
    const Count queries = last_of(rows, b, shape.rows), keys = last_of(columns, b, shape.columns);
    if (queries == 0) continue;
    for (Count h = 0; h < shape.heads; ++h) {
      MatrixPlan matrix{b * shape.heads + h, queries, keys, static_cast<Count>(plan.tiles.size()), 0};
      const Count size = plan.packed ? queries : instance.array.rows;
      for (Count first = 0; first < queries; first += size, ++matrix.tiles) {
        const Count own = std::min(size, queries - first);
        plan.tiles.push_back({static_cast<Count>(plan.matrices.size()), first, own,
                              plan.packed ? keys : keys_of_tile(shape, causal, keys, first + own), 0, 0, 0});
      }
      plan.matrices.push_back(matrix);
    }
  }
  return plan;
}

void add_blocks(const masks::Packing& packing, RunPlan& plan) {
  const auto& blocks = packing.blocks;
  std::size_t next = 0;
  for (TilePlan& tile : plan.tiles) {
    const Count matrix = plan.matrices[static_cast<std::size_t>(tile.matrix)].matrix;
    tile.first_block = static_cast<Count>(plan.blocks.size());
    const auto own = [&](const masks::PackedBlock& block) {
      return block.matrix == matrix && (plan.packed || block.rows.front().query < tile.first_query + tile.queries);
    };
    Count start = 0;  // the first column that the block open now has seen
    for (; next < blocks.size() && own(blocks[next]); ++next, ++tile.blocks) {
      const masks::PackedBlock& block = blocks[next];
      const bool last = next + 1 == blocks.size() || !own(blocks[next + 1]);
      const Count end = last ? tile.keys : blocks[next + 1].keys.front();
      BlockPlan planned{plan.packed ? 0 : end - start + 1, static_cast<Count>(block.keys.size()),
                        static_cast<Count>(block.rows.size()), 0};
      for (const masks::PackedRow& row : block.rows) planned.entries += static_cast<Count>(row.ports.size());
      plan.blocks.push_back(planned);
      start = end;
    }
    if (tile.blocks == 0 && !plan.packed) tile.empty_cycles = tile.keys + 1;
  }
  ORRERY_CHECK(next == blocks.size(), "every block of a packing belongs to a tile");
}

}  // namespace orrery::accelerator
