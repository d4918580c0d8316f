// Attention of which a mask keeps a part, in the place of a layer's own.
//
//   mask = what a rule predicts of Q and K, and what a pattern allows;   O = softmax(scale Q K^T where kept) V
//
// Backwards the mask is what it was forwards, and has no gradient: codes that scores are predicted from are rounded by
// a straight-through estimator, but what is computed of them, the mask, is a step that lets nothing through. So the
// gradients of Q, K and V are those of masked attention.
#pragma once

#include <functional>
#include <memory>

#include "orrery/layer/attention_core.h"
#include "orrery/sparse/quick_threshold.h"
#include "orrery/study/gathered.h"
#include "orrery/study/pruning.h"

namespace orrery::study {

// What the quantiser of an attention has learned: from what magnitude on codes are clipped.
struct Clips {
  sparse::ClipThreshold query, key;
};

enum class Mode {
  kEvaluate,   // thresholds stay as they are; codes of tensors without any are scaled by their own maximum
  kLearn,      // a step of their running maximum before each use
  kCalibrate,  // the largest magnitude seen; what is computed is dense
};

class PrunedAttention : public layer::AttentionCore {
 public:
  explicit PrunedAttention(Pruning pruning) : pruning_(std::move(pruning)) {}

  // Throws InputError as sparse::quantise() does.
  void forward(kernels::Context& context, const kernels::Attention& attention) override;
  void backward(kernels::Context& context, const kernels::Attention& attention) override;

  // The first half of forward(): the mask of these queries and keys.
  void predict(kernels::Context& context, const kernels::Attention& attention);
  // The second half.
  void attend(kernels::Context& context, const kernels::Attention& attention);

  const Pruning& pruning() const { return pruning_; }
  const sparse::Prediction& prediction() const { return prediction_; }  // of the last call

  Mode mode = Mode::kEvaluate;
  Clips clips;
  std::function<void()> told;  // behind each forward pass that pruned

 private:
  kernels::KeptPairs kept() const;
  void predict_scores(kernels::Context& context);

  Pruning pruning_;
  Gathered gathered_;
  sparse::Prediction prediction_;
  std::optional<sparse::QuickThreshold> quick_;   // of the threshold rule
  std::unique_ptr<sparse::Predictor> predictor_;  // of others
  Clips predictors_;                              // that it was made with
};

}  // namespace orrery::study
