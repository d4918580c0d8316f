// What `sparse measure` is asked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/base/numbers/count.h"
#include "orrery/engines/masks/measure.h"
#include "orrery/engines/masks/prediction/predictor.h"
#include "orrery/inputs/masks/sparse_arrays.h"

namespace orrery::verbs {

struct SparseMeasureRequest {
  SparseArrayFiles arrays;
  std::string mask;                    // a file, or a folder of them; instead of a prediction
  std::optional<base::Count> columns;  // of packed bits
  masks::PredictorOptions predictor;
  masks::MeasureDefects defects;
  std::vector<std::string> compat;
  base::Limits limits;  // threads: <= 0 for as many as the machine has
  bool packs = true;
  int repeat = 0;  // how often prediction and figures are timed
};

}  // namespace orrery::verbs
