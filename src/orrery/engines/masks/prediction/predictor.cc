#include "orrery/engines/masks/prediction/predictor.h"

#include <cmath>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/engines/masks/prediction/predictors.h"

namespace orrery::masks {

void begin(const AttentionInput& input, Prediction& into) {
  into.mask = input.empty_mask();
  into.emptied.clear();
  into.clips.reset();
}

Count share_of(double share, Count count) {
  return std::clamp<Count>(base::saturated(std::ceil(share * static_cast<double>(count))), std::min<Count>(1, count),
                           count);
}

std::unique_ptr<Predictor> make_predictor(const PredictorOptions& options) {
  switch (options.kind) {
    case PredictorKind::kThreshold:
      return make_threshold(options);
    case PredictorKind::kTopK:
      return make_top_k(options);
    case PredictorKind::kRounds:
      return make_rounds(options);
    case PredictorKind::kBlocks:
      return make_blocks(options);
    case PredictorKind::kWindow:
      return make_window(options);
  }
  return nullptr;
}

}  // namespace orrery::masks
