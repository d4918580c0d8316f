// Sanger's rule: a score matters where its predicted probability exceeds a threshold.
//
//   keep_ij = softmax_j(P_ij) > threshold                 P: scores.cc
//
// over the keys that are there: padding and what lies beyond the causal diagonal have probability 0, as with Sanger's
// addends of -10000. At most 1 / threshold keys of a row can pass; with a threshold above 1 / keys, none may
// (EmptyRows). Queries that are padding are predicted like others; measurement leaves them out.
//
// Source: L. Lu et al., "Sanger: A Co-Design Framework for Enabling Sparse Attention using Reconfigurable
// Architecture", MICRO 2021. Cost: that of the integer products, and one exponential for each pair.
#include <cmath>

#include "orrery/engines/masks/prediction/predictors.h"
#include "orrery/runtime/kernels/prune_part.h"

namespace orrery::masks {
namespace {

class Threshold : public Predictor {
 public:
  explicit Threshold(const PredictorOptions& options) : options_(options) {}

  void predict(kernels::Context& context, const AttentionInput& input, const base::Budget& budget,
               Prediction& into) override {
    quantise(context, input, options_.quantiser, quantised_, budget);
    begin(input, into);
    into.clips = quantised_.clips();
    Emptied emptied(input);
    for_each_row(
        context, input, quantised_,
        [&](const ScoredRow& row) {
          if (std::isinf(row.most)) return;  // no key is there
          kernels::KeepRow part;
          part.row = row.scores;
          part.columns = row.visible;
          part.most = row.most;
          part.threshold = static_cast<float>(options_.threshold);
          part.bits = into.mask.row(row.batch, row.head, row.row);
          row.table->keep_row(part);
          if (into.mask.kept_in_row(row.batch, row.head, row.row) == 0) emptied.settle(options_.empty, row, into.mask);
        },
        budget);
    into.emptied = emptied.list();
  }

 private:
  PredictorOptions options_;
  Quantised quantised_;
};

}  // namespace

std::unique_ptr<Predictor> make_threshold(const PredictorOptions& options) {
  return std::make_unique<Threshold>(options);
}

}  // namespace orrery::masks
