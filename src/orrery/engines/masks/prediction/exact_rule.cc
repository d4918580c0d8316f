// Scores by plain products, a row at a time: for configurations without a quantiser, and for the few rows that a mask
// leaves empty. Cost: 2 d operations a pair, as dense attention's scores.
#include "orrery/engines/masks/prediction/exact_rule.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace orrery::masks {
namespace {

bool has(const std::vector<Word>& words, Count column) {
  return (words[static_cast<std::size_t>(column / kWordBits)] >> (column % kWordBits) & 1) != 0;
}

// Scores of the keys that are there, -inf of others; the largest.
float score(const AttentionInput& input, Count matrix, Count row, const std::vector<Word>& there,
            std::vector<float>& scores) {
  const float* const query = input.query + (matrix * input.shape.rows + row) * input.depth;
  const float* const keys = input.key + matrix * input.shape.columns * input.depth;
  float most = -std::numeric_limits<float>::infinity();
  scores.assign(static_cast<std::size_t>(input.shape.columns), most);
  for (Count c = 0; c < input.shape.columns; ++c) {
    if (!has(there, c)) continue;
    float sum = 0;
    for (Count i = 0; i < input.depth; ++i) sum += query[i] * keys[c * input.depth + i];
    scores[static_cast<std::size_t>(c)] = sum * input.scale;
    most = std::max(most, sum * input.scale);
  }
  return most;
}

}  // namespace

void keep_probable(kernels::Context& context, const AttentionInput& input, double threshold, Mask& mask) {
  const MaskShape& shape = input.shape;
  context.pool().run(shape.matrices(), [&](kernels::Index matrix, int) {
    const Count batch = matrix / shape.heads, head = matrix % shape.heads;
    There there(mask, batch);
    std::vector<float> scores;
    for (Count r = 0; r < shape.rows; ++r) {
      const float most = score(input, matrix, r, there.keys_of(r), scores);
      if (std::isinf(most)) continue;
      double sum = 0;
      for (const float one : scores) sum += std::exp(double{one} - most);
      for (Count c = 0; c < shape.columns; ++c)
        if (std::exp(double{scores[static_cast<std::size_t>(c)]} - most) / sum > threshold)
          mask.keep(batch, head, r, c);
    }
  });
}

void settle_empty(kernels::Context& context, const AttentionInput& input, EmptyRows policy, Mask& mask,
                  std::vector<Count>& emptied) {
  const MaskShape& shape = input.shape;
  std::vector<std::vector<Count>> found(static_cast<std::size_t>(shape.matrices()));
  context.pool().run(shape.matrices(), [&](kernels::Index matrix, int) {
    const Count batch = matrix / shape.heads, head = matrix % shape.heads;
    There there(mask, batch);
    std::vector<float> scores;
    for (Count r = 0; r < shape.rows; ++r) {
      const std::vector<Word> all = there.pairs_of(r);
      Word* const row = mask.row(batch, head, r);
      Word kept = 0, seen = 0;
      for (std::size_t w = 0; w < all.size(); ++w) kept |= row[w] & all[w], seen |= all[w];
      if (kept != 0 || seen == 0) continue;
      found[static_cast<std::size_t>(matrix)].push_back(matrix * shape.rows + r);
      if (policy == EmptyRows::kDense) std::copy(all.begin(), all.end(), row);
      if (policy != EmptyRows::kArgmax) continue;
      score(input, matrix, r, all, scores);
      mask.keep(batch, head, r, std::max_element(scores.begin(), scores.end()) - scores.begin());
    }
  });
  for (const std::vector<Count>& rows : found) emptied.insert(emptied.end(), rows.begin(), rows.end());
}

}  // namespace orrery::masks
