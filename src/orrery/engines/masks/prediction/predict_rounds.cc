// Two rounds of filtering: the upper half of the keys' bits tells which are looked at with all bits.
//
// In each round the keys of a row that are still in are compared with a bound between their mean and their extremes,
//
//   bound = a max + (1 - a) mean     for 0 <= a < 1
//   bound = -a min + (1 + a) mean    for -1 < a < 0
//
// and those above stay. Round one takes the upper half of the bits of the keys' codes, rounded down as truncation
// leaves them; round two all. With a = 0 each round keeps what is above the mean. A row whose scores are all equal
// loses everything and follows EmptyRows.
//
// Source: Z. Zhou et al., "Energon: Towards Efficient Acceleration of Transformers Using Dynamic Sparse Attention",
// 2021 (mix-precision multi-round filtering). Its code is not public: the rule is as described, not compared with it.
// Cost: two integer products; hardware makes the second from the first and only where it is needed.
#include <algorithm>
#include <cmath>

#include "orrery/engines/masks/prediction/predictors.h"

namespace orrery::masks {
namespace {

class Rounds : public Predictor {
 public:
  explicit Rounds(const PredictorOptions& options) : options_(options) {}

  void predict(kernels::Context& context, const AttentionInput& input, const base::Budget& budget,
               Prediction& into) override {
    quantise(context, input, options_.quantiser, quantised_, budget);
    begin(input, into);
    into.clips = quantised_.clips();
    Emptied emptied(input);
    const std::vector<std::int8_t> whole = quantised_.key.codes;
    const int dropped = options_.quantiser.bits / 2;
    for (std::int8_t& code : quantised_.key.codes) code = static_cast<std::int8_t>(code >> dropped << dropped);
    for_each_row(
        context, input, quantised_,
        [&](const ScoredRow& row) {
          if (std::isinf(row.most)) return;
          for (Count c = 0; c < row.visible; ++c)
            if (!std::isinf(row.scores[c])) into.mask.keep(row.batch, row.head, row.row, c);
          filter(row, options_.alpha[0], into.mask, emptied);
        },
        budget);
    quantised_.key.codes = whole;
    for_each_row(
        context, input, quantised_,
        [&](const ScoredRow& row) {
          if (!std::isinf(row.most) && !emptied.has(row)) filter(row, options_.alpha[1], into.mask, emptied);
        },
        budget);
    into.emptied = emptied.list();
  }

 private:
  void filter(const ScoredRow& row, double alpha, Mask& mask, Emptied& emptied) const {
    double sum = 0, least = 0, most = 0;
    Count count = 0;
    mask.for_each_kept(row.batch, row.head, row.row, [&](Count c) {
      const double score = row.scores[c];
      least = count == 0 ? score : std::min(least, score);
      most = count == 0 ? score : std::max(most, score);
      sum += score;
      ++count;
    });
    if (count <= 1) return;
    const double mean = sum / static_cast<double>(count);
    const double bound = alpha >= 0 ? alpha * most + (1 - alpha) * mean : -alpha * least + (1 + alpha) * mean;
    Count left = 0;
    mask.for_each_kept(row.batch, row.head, row.row, [&](Count c) {
      if (row.scores[c] > bound) {
        ++left;
      } else {
        mask.drop(row.batch, row.head, row.row, c);
      }
    });
    if (left == 0) emptied.settle(options_.empty, row, mask);
  }

  PredictorOptions options_;
  Quantised quantised_;
};

}  // namespace

std::unique_ptr<Predictor> make_rounds(const PredictorOptions& options) {
  return std::make_unique<Rounds>(options);
}

}  // namespace orrery::masks
