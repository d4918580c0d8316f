#include "orrery/sparse/quick_threshold.h"

#include "orrery/sparse/predictors.h"

namespace orrery::sparse {

void QuickThreshold::predict(kernels::Context& context, const AttentionInput& input, const QuantiserOptions& quantiser,
                             Prediction& into) {
  PredictorOptions options = options_;
  options.quantiser = quantiser;
  make_threshold(options)->predict(context, input, into);
}

}  // namespace orrery::sparse
