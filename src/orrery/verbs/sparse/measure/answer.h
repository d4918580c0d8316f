// What `sparse measure` answers.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/numbers/count.h"
#include "orrery/base/numbers/sample.h"
#include "orrery/engines/masks/mask.h"
#include "orrery/engines/masks/measure.h"
#include "orrery/engines/masks/packing/packing.h"
#include "orrery/engines/masks/prediction/predictor.h"
#include "orrery/engines/masks/pruning_error.h"

namespace orrery::verbs {

struct MeasuredMask {
  std::string name;  // of its file; empty: predicted
  masks::Measured figures;
};

struct SparseMeasurement {
  std::vector<MeasuredMask> masks;
  masks::Measured mean;
  masks::Mask mask;  // the one predicted, or the only one read
  masks::PredictorOptions predictor;
  bool predicted = false;
  base::Count emptied = 0;  // rows that lost everything
  std::optional<std::pair<float, float>> clips;
  std::optional<masks::PruningError> error;
  // Of the published array, all masks together; empty: not asked for.
  std::vector<masks::PackedScheme> packing;
  std::optional<base::Sample> predicting, measuring;  // seconds, with `repeat`
  std::vector<std::string> unfinished;                // what the limits left out; without masks: everything
  std::string isa;
  int threads = 0;
  std::vector<std::string> compat;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

}  // namespace orrery::verbs
