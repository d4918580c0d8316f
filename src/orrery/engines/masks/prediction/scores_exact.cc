// Scores of queries and keys as they are, which prediction is an estimate of:
//
//   S_ij = q_i k_j * scale                                      fp32 product
//
// A block of queries at a time, so that no matrix of scores is ever in memory; its product runs on all threads, then
// its rows do. What the masks of these scores differ in from those of codes is what quantisation costs. Cost: one fp32
// multiply-add for each pair and element.
#include <algorithm>
#include <limits>

#include "orrery/engines/masks/prediction/scores.h"
#include "orrery/engines/masks/unfinished.h"
#include "orrery/runtime/kernels/product.h"

namespace orrery::masks {
namespace {

constexpr Count kScoresExactRows = 256;  // in a block

}  // namespace

void for_each_exact_row(kernels::Context& context, const AttentionInput& input,
                        const std::function<void(const ScoredRow&)>& visit, const base::Budget& budget) {
  const MaskShape& shape = input.shape;
  const Count stride = base::ceil_divide(shape.columns, kScoreStep) * kScoreStep;
  const std::vector<float> hidden = hidden_keys(input);
  std::vector<float> scores(static_cast<std::size_t>(std::min(kScoresExactRows, shape.rows) * stride));
  for (Count matrix = 0; matrix < shape.matrices(); ++matrix)
    for (Count first = 0; first < shape.rows; first += kScoresExactRows) {
      demand(budget);
      const Count rows = std::min(kScoresExactRows, shape.rows - first);
      kernels::Product p;
      p.rows = rows, p.columns = visible_keys(input, first + rows - 1), p.depth = input.depth, p.alpha = input.scale;
      p.a = {input.query + (matrix * shape.rows + first) * input.depth, kernels::Type::kF32, input.depth, 1, 0};
      p.b = {input.key + matrix * shape.columns * input.depth, kernels::Type::kF32, 1, input.depth, 0};
      p.c = {scores.data(), kernels::Type::kF32, stride, 0};
      kernels::multiply(context, p);
      context.pool().run(rows, [&](kernels::Index r, int) {
        ScoredRow row{matrix / shape.heads,
                      matrix % shape.heads,
                      first + r,
                      scores.data() + r * stride,
                      visible_keys(input, first + r),
                      -std::numeric_limits<float>::infinity(),
                      &context.table()};
        const float* hide = hidden.empty() ? nullptr : hidden.data() + row.batch * shape.columns;
        for (Count c = 0; c < row.visible; ++c) {
          if (hide != nullptr) row.scores[c] += hide[c];
          row.most = std::max(row.most, row.scores[c]);
        }
        std::fill(row.scores + row.visible, row.scores + stride, -std::numeric_limits<float>::infinity());
        visit(row);
      });
    }
}

}  // namespace orrery::masks
