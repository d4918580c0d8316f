// The k largest scores of each row, k a share of the keys that are there, rounded up.
//
// SpAtten ranks what it has computed and drops the rest; here the quantised scores are ranked (scores.cc), so that a
// row costs a selection and no exponential, and the work of a row is the same whatever its scores are. Of equal scores
// the keys that stand first are kept. No row is left empty.
//
// Source: H. Wang, Z. Zhang, S. Han, "SpAtten: Efficient Sparse Attention Architecture with Cascade Token and Head
// Pruning", HPCA 2021 (local pruning by top-k). Its cascades over layers need a whole model and are not here.
// Cost: the integer products, and linear selection in each row.
#include <algorithm>
#include <cmath>

#include "orrery/engines/masks/prediction/predictors.h"

namespace orrery::masks {
namespace {

class TopK : public Predictor {
 public:
  explicit TopK(const PredictorOptions& options) : options_(options) {}

  void predict(kernels::Context& context, const AttentionInput& input, const base::Budget& budget,
               Prediction& into) override {
    quantise(context, input, options_.quantiser, quantised_, budget);
    begin(input, into);
    into.clips = quantised_.clips();
    for_each_row(
        context, input, quantised_,
        [&](const ScoredRow& row) {
          if (!std::isinf(row.most)) keep_best(row, into.mask);
        },
        budget);
  }

 private:
  void keep_best(const ScoredRow& row, Mask& mask) const {
    thread_local std::vector<float> sorted;
    sorted.assign(row.scores, row.scores + row.visible);
    const Count there =
        row.visible - std::count_if(sorted.begin(), sorted.end(), [](float s) { return std::isinf(s); });
    const Count wanted = share_of(options_.keep, there);
    std::nth_element(sorted.begin(), sorted.begin() + (wanted - 1), sorted.end(), std::greater<>());
    const float least = sorted[static_cast<std::size_t>(wanted - 1)];
    Count equal = wanted - std::count_if(row.scores, row.scores + row.visible, [&](float s) { return s > least; });
    for (Count c = 0; c < row.visible; ++c)
      if (row.scores[c] > least || (row.scores[c] == least && equal-- > 0)) mask.keep(row.batch, row.head, row.row, c);
  }

  PredictorOptions options_;
  Quantised quantised_;
};

}  // namespace

std::unique_ptr<Predictor> make_top_k(const PredictorOptions& options) {
  return std::make_unique<TopK>(options);
}

}  // namespace orrery::masks
