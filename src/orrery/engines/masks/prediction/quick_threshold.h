// The mask of Sanger's threshold rule, quickly (quick_threshold.cc).
#pragma once

#include <vector>

#include "orrery/engines/masks/prediction/predictor.h"
#include "orrery/runtime/kernels/context.h"

namespace orrery::masks {

class QuickThreshold {
 public:
  explicit QuickThreshold(const PredictorOptions& options) : options_(options) {}

  // What the predictor of kThreshold says, to the last bit; `quantiser` in place of the options'. Throws as it does.
  void predict(kernels::Context& context, const AttentionInput& input, const QuantiserOptions& quantiser,
               Prediction& into);

 private:
  PredictorOptions options_;
  Quantised quantised_;
  std::vector<float> key_factors_, hidden_, bounds_;
};

}  // namespace orrery::masks
