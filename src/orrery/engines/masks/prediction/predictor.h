// Which scores matter, told before they are computed: one interface, several ways (predict_*.cc, each with its source).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/masks/attention_input.h"
#include "orrery/engines/masks/mask.h"
#include "orrery/engines/masks/prediction/quantiser.h"
#include "orrery/runtime/kernels/context.h"

namespace orrery::masks {

enum class PredictorKind {
  kThreshold,  // Sanger: probabilities of quantised scores above a threshold
  kTopK,       // SpAtten: the largest scores of a row
  kRounds,     // Energon: a filter of few bits, then one of more
  kBlocks,     // the best blocks by their means
  kWindow,     // the nearest keys and the first ones
};

// What becomes of a row that lost every key, which no array can normalise.
enum class EmptyRows {
  kArgmax,  // its most probable key is kept; the first of equal ones
  kDense,   // all its keys are kept, which is what Sanger's arithmetic amounts to
  kZero,    // it stays empty: its output is 0
};

struct PredictorOptions {
  PredictorKind kind = PredictorKind::kThreshold;
  QuantiserOptions quantiser;    // of kThreshold, kTopK, kRounds
  double threshold = 0.002;      // kThreshold
  double keep = 0.1;             // kTopK, kBlocks: the share of a row's keys or blocks, rounded up
  double alpha[2] = {0, 0};      // kRounds
  Count block = 64;              // kBlocks: tokens
  Count window = 64, sinks = 4;  // kWindow
  EmptyRows empty = EmptyRows::kArgmax;
};

struct Prediction {
  Mask mask;
  std::vector<Count> emptied;  // rows, as [batch][heads][rows] numbers them, that the policy decided
  // Clip thresholds of queries and keys, where they were quantised.
  std::optional<std::pair<float, float>> clips;
};

class Predictor {
 public:
  virtual ~Predictor() = default;
  // Memory of `into` and of the predictor is used again. The answer does not depend on threads.
  // Throws InputError as quantise() does, where it quantises; Unfinished.
  virtual void predict(kernels::Context& context, const AttentionInput& input, const base::Budget& budget,
                       Prediction& into) = 0;
};

// The options have been checked: the threshold from 0 to below 1, shares above 0 and at most 1, alphas above -1 and
// below 1, a block of at least 1.
std::unique_ptr<Predictor> make_predictor(const PredictorOptions& options);

}  // namespace orrery::masks
