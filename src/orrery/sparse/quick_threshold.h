// The mask of Sanger's threshold rule, quickly (quick_threshold.cc).
#pragma once

#include <vector>

#include "orrery/kernels/context.h"
#include "orrery/sparse/predictor.h"

namespace orrery::sparse {

class QuickThreshold {
 public:
  explicit QuickThreshold(const PredictorOptions& options) : options_(options) {}

  // What the predictor of kThreshold says, to the last bit.
  void predict(kernels::Context& context, const AttentionInput& input, const QuantiserOptions& quantiser,
               Prediction& into);

 private:
  PredictorOptions options_;
  Quantised quantised_;
};

}  // namespace orrery::sparse
