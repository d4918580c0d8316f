// The nearest keys and the first ones, whatever their scores: what a prediction must beat.
//
// Query r, at position p = r + keys - queries, keeps keys |p - c| < window and the first `sinks` keys, to which models
// give what is left of a row's probability. With a causal mask only those behind it count.
//
// Source: G. Xiao et al., "Efficient Streaming Language Models with Attention Sinks", 2023. Cost: that of writing it.
#include "orrery/engines/masks/prediction/predictors.h"

namespace orrery::masks {
namespace {

class Window : public Predictor {
 public:
  explicit Window(const PredictorOptions& options) : options_(options) {}

  void predict(kernels::Context&, const AttentionInput& input, const base::Budget& budget, Prediction& into) override {
    begin(input, into);
    const MaskShape& shape = input.shape;
    WorkClock clock(budget);
    for (Count b = 0; b < shape.batch; ++b) {
      There present(into.mask, b);
      for (Count r = 0; r < shape.rows; ++r) {
        clock(shape.columns + shape.heads);
        const Count at = r + shape.columns - shape.rows;
        const std::vector<Word>& there = present.keys_of(r);
        for (Count c = 0; c < shape.columns; ++c) {
          const Count distance = at < c ? c - at : at - c;
          if (distance >= options_.window && c >= options_.sinks) continue;
          const Word bit = there[static_cast<std::size_t>(c / kWordBits)] & Word{1} << (c % kWordBits);
          for (Count h = 0; h < shape.heads; ++h) into.mask.row(b, h, r)[c / kWordBits] |= bit;
        }
      }
    }
  }

 private:
  PredictorOptions options_;
};

}  // namespace

std::unique_ptr<Predictor> make_window(const PredictorOptions& options) {
  return std::make_unique<Window>(options);
}

}  // namespace orrery::masks
