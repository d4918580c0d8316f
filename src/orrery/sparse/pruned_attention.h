// Attention that prunes itself: it predicts which scores matter, or is told, and computes no others.
//
//   mask = predicted from queries and keys, or a pattern;   out = softmax(scale q k where kept) v
//
// The answer is that of dense attention with -inf where nothing is kept, to rounding; a query that keeps nothing has
// output 0 (EmptyRows says which queries may). Backwards the mask is a constant, and what predicted it has no gradient
// (Sanger's straight-through rule). Masks of whole blocks are computed block by block.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/kernels/attention.h"
#include "orrery/sparse/block_bits.h"
#include "orrery/sparse/predictor.h"
#include "orrery/sparse/quick_threshold.h"

namespace orrery::sparse {

// Why predictors cannot tell which scores of such an attention matter: a bias, a window, a diagonal that does not end
// with the last key; empty: they can.
std::string unpredictable(const kernels::Attention& attention);

class PrunedAttention {
 public:
  // By prediction. Clip thresholds are the options' or, where they are not given, the largest magnitudes of each
  // request.
  explicit PrunedAttention(const PredictorOptions& options);
  // By a pattern [1][1 or heads][tokens][tokens], of at least as many tokens as requests have: its upper left corner.
  explicit PrunedAttention(Mask pattern);

  // In training: clip thresholds that move with each forward() (ClipThreshold::observe), to be kept with the weights;
  // they outlive this. Null: back to those of the options.
  void train_clips(ClipThreshold* query, ClipThreshold* key);

  // What kernels::attend() does, where pairs are kept; `attention.kept` is null. Any type; predictions are of fp32.
  // Throws InputError as Predictor::predict() does. What is unpredictable() takes a pattern.
  void forward(kernels::Context& context, const kernels::Attention& attention);
  // What kernels::attend_back() does, with the mask of the last forward().
  void backward(kernels::Context& context, const kernels::Attention& attention);

  // Of the last forward(): what was kept, with the tokens that are there, and the rows that EmptyRows decided.
  const Prediction& prediction() const { return prediction_; }
  double predict_seconds() const { return predict_seconds_; }  // that it took

 private:
  void take(kernels::Context& context, const kernels::Attention& attention, bool with_numbers);
  void predict(kernels::Context& context, bool there);
  kernels::Attention pruned(const kernels::Attention& attention);

  PredictorOptions options_;
  std::unique_ptr<Predictor> predictor_;  // null: a pattern, or the quick way of kThreshold
  std::optional<QuickThreshold> quick_;
  Mask pattern_;
  ClipThreshold *query_clip_ = nullptr, *key_clip_ = nullptr;
  AttentionInput input_;
  std::vector<float> query_, key_;  // copies, where the request's do not lie as predictors want them
  Prediction prediction_;
  double predict_seconds_ = 0;
  std::optional<BlockBits> blocks_;
  kernels::KeptPairs kept_;
};

}  // namespace orrery::sparse
