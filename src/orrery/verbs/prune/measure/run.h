// `orrery sparse measure`: a mask that is predicted or read, and what it is worth.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/base/numbers/sample.h"
#include "orrery/engines/masks/measure.h"
#include "orrery/engines/masks/packing/packing.h"
#include "orrery/engines/masks/prediction/predictor.h"
#include "orrery/engines/masks/pruning_error.h"
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

// Throws InputError; beside those of reading: O1816 (a folder without masks), O1817 (Sanger's lengths),
// O1842 (masks of a folder that differ in size). Warns O1819 of what a mask that was read keeps outside the valid
// tokens, and O1841 of what the limits left out.
SparseMeasurement measure_sparse(const SparseMeasureRequest& request);

// A line for each mask, as Sanger's log has them.
std::string load_balance_csv(const SparseMeasurement& answer);

}  // namespace orrery::verbs
