// Attention that prunes itself: it predicts which scores matter, or is told, and computes no others.
//
//   mask = what a rule predicts of Q and K, and what a pattern allows;   O = softmax(scale Q K^T where kept) V
//
// The answer is that of dense attention with -inf where nothing is kept, to rounding; a query that keeps nothing has
// output 0 (EmptyRows says which queries may). Backwards the mask is what it was forwards, and has no gradient: codes
// that scores are predicted from are rounded by a straight-through estimator, but what is computed of them, the mask,
// is a step that lets nothing through. So the gradients of Q, K and V are those of masked attention. Masks of whole
// blocks are computed block by block.
#pragma once

#include <memory>
#include <optional>

#include "orrery/engines/masks/block_bits.h"
#include "orrery/engines/masks/prediction/gathered_rows.h"
#include "orrery/engines/masks/prediction/quick_threshold.h"
#include "orrery/engines/masks/pruning.h"
#include "orrery/runtime/kernels/attention.h"

namespace orrery::masks {

// What the quantiser of an attention has learned: from what magnitude on codes are clipped.
struct Clips {
  ClipThreshold query, key;
};

enum class Mode {
  kEvaluate,   // thresholds stay as they are; codes of tensors without any are scaled by their own maximum
  kLearn,      // a step of their running maximum before each use
  kCalibrate,  // the largest magnitude seen; what is computed is dense
};

class PrunedAttention {
 public:
  explicit PrunedAttention(Pruning pruning) : pruning_(std::move(pruning)) {}
  // By prediction alone; thresholds are those of the options, where it has any.
  explicit PrunedAttention(const PredictorOptions& options);

  // What kernels::attend() does, of any type, where pairs are kept; `attention.kept` is null, and the attention none
  // that is unpredictable(), or there is a pattern alone. Predictions are of fp32. Throws InputError as quantise()
  // does.
  void forward(kernels::Context& context, const kernels::Attention& attention);
  // What kernels::attend_back() does, with the mask of the last forward().
  void backward(kernels::Context& context, const kernels::Attention& attention);

  // The first half of forward(): the mask of these queries and keys.
  void predict(kernels::Context& context, const kernels::Attention& attention);
  // The second half.
  void attend(kernels::Context& context, const kernels::Attention& attention);

  const Pruning& pruning() const { return pruning_; }
  // Of the last call: what was kept, with the tokens that are there, and the rows that EmptyRows decided.
  const Prediction& prediction() const { return prediction_; }
  // Whether forward() leaves out anything as things stand.
  bool prunes() const { return pruning_.prunes() && mode != Mode::kCalibrate; }

  Mode mode = Mode::kEvaluate;
  Clips clips;

 private:
  void take_clips(kernels::Context& context, PredictorOptions& options);
  void predict_scores(kernels::Context& context, const PredictorOptions& options);
  void find_blocks();
  kernels::KeptPairs kept() const;

  Pruning pruning_;
  Gathered gathered_;
  Prediction prediction_;
  std::optional<BlockBits> blocks_;       // of a mask that is made of whole blocks
  std::optional<QuickThreshold> quick_;   // of the threshold rule
  std::unique_ptr<Predictor> predictor_;  // of others
  std::optional<Clips> predictors_;       // that it was made with
};

}  // namespace orrery::masks
