// Which keys pruned attention computes: a rule that looks at queries and keys, a mask that does not, or both.
#pragma once

#include <memory>
#include <optional>

#include "orrery/engines/masks/prediction/predictor.h"

namespace orrery::masks {

struct Pruning {
  std::optional<PredictorOptions> predictor;  // its clips are those that the attention keeps; `empty` is below
  // Probabilities of the scores themselves, not of codes, are compared with the threshold (Sanger's configuration with
  // `prune_score` and without `quant_qk`).
  bool exact = false;
  bool quantises() const {  // by clip thresholds of queries and keys
    if (!predictor || exact) return false;
    return predictor->kind != PredictorKind::kBlocks && predictor->kind != PredictorKind::kWindow;
  }
  // [1][1 or all heads][n][n]: of longer sequences than any that is computed, the upper left part counts. With a
  // predictor, what both keep is kept.
  std::shared_ptr<const Mask> pattern;
  // Of rows that keep nothing.
  EmptyRows empty = EmptyRows::kArgmax;
  // Queries were divided by the root of their size in their projection, before codes are made of them (BART).
  bool scaled_queries = false;

  bool prunes() const { return predictor || pattern; }
};

}  // namespace orrery::masks
