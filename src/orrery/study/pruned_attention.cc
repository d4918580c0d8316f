#include "orrery/study/pruned_attention.h"

#include <algorithm>

#include "orrery/base/check.h"
#include "orrery/study/exact_rule.h"

namespace orrery::study {
namespace {

using kernels::Attention;
using sparse::Count;
using sparse::Mask;
using sparse::Word;

// The bits that the pattern has not.
void intersect(const Mask& pattern, Mask& mask, bool keep_all) {
  ORRERY_CHECK(pattern.rows() >= mask.rows() && pattern.columns() >= mask.columns(),
               "a pattern is of the longest sequences");
  for (Count b = 0; b < mask.batch(); ++b)
    for (Count h = 0; h < mask.heads(); ++h)
      for (Count r = 0; r < mask.rows(); ++r) {
        const Word* const allowed = pattern.row(0, pattern.heads() == 1 ? 0 : h, r);
        Word* const row = mask.row(b, h, r);
        for (Count w = 0; w < mask.words(); ++w) row[w] = keep_all ? allowed[w] : row[w] & allowed[w];
        const Count beyond = mask.words() * sparse::kWordBits - mask.columns();
        if (mask.words() > 0) row[mask.words() - 1] &= ~Word{0} >> beyond;
      }
}

}  // namespace

void PrunedAttention::predict_scores(kernels::Context& context) {
  sparse::PredictorOptions options = *pruning_.predictor;
  // What the pattern takes away comes first: a row that both leave empty is settled once.
  options.empty = pruning_.pattern ? sparse::EmptyRows::kZero : pruning_.empty;
  if (pruning_.exact) {
    prediction_.mask = gathered_.input.empty_mask();
    keep_probable(context, gathered_.input, options.threshold, prediction_.mask);
    return;
  }
  if (pruning_.quantises() && clips.query.value > 0) options.quantiser.query_clip = clips.query.value;
  if (pruning_.quantises() && clips.key.value > 0) options.quantiser.key_clip = clips.key.value;
  if (options.kind == sparse::PredictorKind::kThreshold) {
    if (!quick_) quick_.emplace(options);
    return quick_->predict(context, gathered_.input, options.quantiser, prediction_);
  }
  const bool same =
      predictor_ && predictors_.query.value == clips.query.value && predictors_.key.value == clips.key.value;
  if (!same) predictor_ = sparse::make_predictor(options);
  predictors_ = clips;
  predictor_->predict(context, gathered_.input, {}, prediction_);
}

void PrunedAttention::predict(kernels::Context& context, const Attention& attention) {
  gather(context, attention, pruning_.scaled_queries, gathered_);
  const sparse::AttentionInput& input = gathered_.input;
  prediction_.emptied.clear();
  prediction_.clips.reset();
  if (pruning_.quantises() && mode != Mode::kEvaluate) {
    const auto [query, key] = sparse::largest_magnitudes(context, input, pruning_.predictor->quantiser.normalise);
    if (mode == Mode::kLearn) {
      clips.query.observe(query);
      clips.key.observe(key);
    } else {
      clips.query = {std::max(clips.query.value, query), clips.query.step + 1};
      clips.key = {std::max(clips.key.value, key), clips.key.step + 1};
    }
  }
  if (mode == Mode::kCalibrate) return;
  predict_mask(context);
  const bool by_blocks = !pruning_.predictor || pruning_.predictor->kind == sparse::PredictorKind::kBlocks;
  blocks_ = by_blocks ? sparse::largest_blocks_of(prediction_.mask) : std::nullopt;
}

void PrunedAttention::predict_mask(kernels::Context& context) {
  const sparse::AttentionInput& input = gathered_.input;
  if (pruning_.predictor)
    predict_scores(context);
  else
    prediction_.mask = input.empty_mask();
  if (pruning_.pattern) intersect(*pruning_.pattern, prediction_.mask, !pruning_.predictor);
  if (!pruning_.pattern && !pruning_.exact) return;
  prediction_.emptied.clear();
  settle_empty(context, input, pruning_.empty, prediction_.mask, prediction_.emptied);
}

kernels::KeptPairs PrunedAttention::kept() const {
  const Mask& mask = prediction_.mask;
  kernels::KeptPairs kept;
  if (blocks_) {
    kept.bits = blocks_->bits.data();
    kept.block = blocks_->block;
    kept.row = blocks_->words;
    kept.head = blocks_->rows * blocks_->words;
    kept.batch = mask.heads() * kept.head;
    return kept;
  }
  kept.bits = mask.row(0, 0, 0);
  kept.row = mask.words();
  kept.head = mask.rows() * mask.words();
  kept.batch = mask.heads() * kept.head;
  return kept;
}

void PrunedAttention::attend(kernels::Context& context, const Attention& attention) {
  Attention pruned = attention;
  const kernels::KeptPairs pairs = kept();
  pruned.kept = &pairs;
  kernels::attend(context, pruned);
}

void PrunedAttention::forward(kernels::Context& context, const Attention& attention) {
  if (!pruning_.prunes()) return kernels::attend(context, attention);
  predict(context, attention);
  if (mode == Mode::kCalibrate) return kernels::attend(context, attention);
  attend(context, attention);
  if (told) told();
}

void PrunedAttention::backward(kernels::Context& context, const Attention& attention) {
  if (!pruning_.prunes()) return kernels::attend_back(context, attention);
  ORRERY_CHECK(mode != Mode::kCalibrate, "nothing is learned while thresholds are calibrated");
  Attention pruned = attention;
  const kernels::KeptPairs pairs = kept();
  pruned.kept = &pairs;
  kernels::attend_back(context, pruned);
}

}  // namespace orrery::study
