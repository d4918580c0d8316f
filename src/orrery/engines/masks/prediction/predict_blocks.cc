// The best blocks of keys for each block of queries, by the products of their means.
//
// Queries and keys are averaged over blocks of tokens, padding left out; of the blocks of keys that a block of queries
// sees, the share with the largest products of means is kept whole, and with a causal mask also the block on the
// diagonal, without which a token would not see itself. Of equal products the first are kept.
//
// Source: mean-pooled block selection as in MoBA (E. Lu et al., 2025) and the block-sparse pattern of MInference
// (H. Jiang et al., NeurIPS 2024). Cost: one pass over queries and keys, and a product for each pair of blocks.
#include <algorithm>
#include <atomic>
#include <numeric>

#include "orrery/engines/masks/prediction/predictors.h"

namespace orrery::masks {
namespace {

// The means of blocks of rows; `there` says which blocks have a valid token.
struct Means {
  std::vector<double> values;
  std::vector<bool> there;
};

Means means_of(const float* data, Count rows, Count depth, Count block, const std::uint8_t* valid) {
  const Count blocks = base::ceil_divide(rows, block);
  Means out{std::vector<double>(static_cast<std::size_t>(blocks * depth)),
            std::vector<bool>(static_cast<std::size_t>(blocks))};
  for (Count b = 0; b < blocks; ++b) {
    double* mean = out.values.data() + b * depth;
    Count count = 0;
    for (Count r = b * block; r < std::min(rows, (b + 1) * block); ++r) {
      if (valid != nullptr && valid[r] == 0) continue;
      ++count;
      for (Count d = 0; d < depth; ++d) mean[d] += data[r * depth + d];
    }
    out.there[static_cast<std::size_t>(b)] = count > 0;
    for (Count d = 0; d < depth && count > 0; ++d) mean[d] /= static_cast<double>(count);
  }
  return out;
}

class Blocks : public Predictor {
 public:
  explicit Blocks(const PredictorOptions& options) : options_(options) {}

  void predict(kernels::Context& context, const AttentionInput& input, const base::Budget& budget,
               Prediction& into) override {
    begin(input, into);
    std::atomic<bool> finished = true;
    context.pool().run(input.shape.matrices(), [&](kernels::Index head, int) {
      if (!predict_head(input, head, budget, into.mask)) finished = false;
    });
    if (!finished) throw Unfinished();
  }

 private:
  // False: the budget ended first.
  bool predict_head(const AttentionInput& input, Count head, const base::Budget& budget, Mask& mask) const {
    const MaskShape& shape = input.shape;
    const Count batch = head / shape.heads, block = options_.block;
    const auto valid = [&](const std::vector<std::uint8_t>& of, Count size) {
      return of.empty() ? nullptr : of.data() + batch * size;
    };
    const Means queries = means_of(input.query + head * shape.rows * input.depth, shape.rows, input.depth, block,
                                   valid(input.valid_rows, shape.rows));
    const Means keys = means_of(input.key + head * shape.columns * input.depth, shape.columns, input.depth, block,
                                valid(input.valid_columns, shape.columns));
    const auto blocks = static_cast<Count>(keys.there.size());
    There present(mask, batch);
    base::Ticker ticker(budget, 64);
    for (Count first = 0; first < shape.rows; first += block) {
      if (ticker.spent()) return false;
      const Count last = std::min(first + block, shape.rows) - 1;
      // The last key that any query of the block sees.
      const Count reach = input.causal ? last + shape.columns - shape.rows : shape.columns - 1;
      std::vector<std::pair<double, Count>> ranked;  // negative products: ascending is best first
      for (Count k = 0; k < blocks && k * block <= reach; ++k)
        if (keys.there[static_cast<std::size_t>(k)])
          ranked.emplace_back(
              -std::inner_product(keys.values.begin() + k * input.depth, keys.values.begin() + (k + 1) * input.depth,
                                  queries.values.begin() + first / block * input.depth, 0.0) *
                  (input.scale < 0 ? -1 : 1),
              k);
      std::sort(ranked.begin(), ranked.end());
      ranked.resize(static_cast<std::size_t>(share_of(options_.keep, static_cast<Count>(ranked.size()))));
      for (Count r = first; r <= last; ++r) {
        const std::vector<Word>& there = present.keys_of(r);
        Word* bits = mask.row(batch, head % shape.heads, r);
        const auto keep = [&](Count k) {
          for (Count c = k * block; c < std::min((k + 1) * block, shape.columns); ++c)
            bits[c / kWordBits] |= there[static_cast<std::size_t>(c / kWordBits)] & Word{1} << (c % kWordBits);
        };
        for (const auto& [product, k] : ranked) keep(k);
        if (input.causal && r + shape.columns - shape.rows >= 0) keep((r + shape.columns - shape.rows) / block);
      }
    }
    return true;
  }

  PredictorOptions options_;
};

}  // namespace

std::unique_ptr<Predictor> make_blocks(const PredictorOptions& options) {
  return std::make_unique<Blocks>(options);
}

}  // namespace orrery::masks
