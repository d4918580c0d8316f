#include "orrery/engines/masks/pruned_attention.h"

#include <algorithm>

#include "orrery/base/diagnostics/check.h"
#include "orrery/engines/masks/prediction/exact_rule.h"
#include "orrery/runtime/kernels/plain/plain.h"

namespace orrery::masks {
namespace {

using kernels::Attention;
using kernels::Index;

// The bits that the pattern has not; with keep_all, all those that it has.
void intersect(const Mask& pattern, Mask& mask, bool keep_all) {
  ORRERY_CHECK(pattern.batch() == 1 && pattern.rows() >= mask.rows() && pattern.columns() >= mask.columns() &&
                   (pattern.heads() == 1 || pattern.heads() == mask.heads()),
               "a pattern has room for the request");
  for (Count b = 0; b < mask.batch(); ++b)
    for (Count h = 0; h < mask.heads(); ++h)
      for (Count r = 0; r < mask.rows(); ++r) {
        const Word* const allowed = pattern.row(0, pattern.heads() == 1 ? 0 : h, r);
        Word* const row = mask.row(b, h, r);
        for (Count w = 0; w < mask.words(); ++w) row[w] = keep_all ? allowed[w] : row[w] & allowed[w];
        const Count beyond = mask.words() * kWordBits - mask.columns();
        if (mask.words() > 0) row[mask.words() - 1] &= ~Word{0} >> beyond;
      }
}

// Whether any query and any key of one sequence are there: what is not has no scale to learn.
bool has_pairs(const Attention& x) {
  for (Index b = 0; b < x.batch; ++b)
    if ((x.query_lengths == nullptr ? x.queries : x.query_lengths[b]) > 0 &&
        (x.key_lengths == nullptr ? x.keys : x.key_lengths[b]) > 0)
      return true;
  return false;
}

Pruning pruning_of(const PredictorOptions& options) {
  Pruning pruning;
  pruning.predictor = options;
  pruning.empty = options.empty;
  return pruning;
}

}  // namespace

PrunedAttention::PrunedAttention(const PredictorOptions& options) : PrunedAttention(pruning_of(options)) {
  clips.query.value = options.quantiser.query_clip.value_or(0);
  clips.key.value = options.quantiser.key_clip.value_or(0);
}

void PrunedAttention::take_clips(kernels::Context& context, PredictorOptions& options) {
  QuantiserOptions& quantiser = options.quantiser;
  if (mode == Mode::kLearn) {
    quantiser.query_running = &clips.query;
    quantiser.key_running = &clips.key;
  } else if (mode == Mode::kCalibrate) {
    const auto [query, key] = largest_magnitudes(context, gathered_.input, quantiser.normalise);
    clips.query = {std::max(clips.query.value, query), clips.query.step + 1};
    clips.key = {std::max(clips.key.value, key), clips.key.step + 1};
  } else {
    if (clips.query.value > 0) quantiser.query_clip = clips.query.value;
    if (clips.key.value > 0) quantiser.key_clip = clips.key.value;
  }
}

void PrunedAttention::predict_scores(kernels::Context& context, const PredictorOptions& options) {
  if (pruning_.exact) {
    largest_magnitudes(context, gathered_.input, Normalise::kNone);  // which refuses what is not finite
    prediction_.mask = gathered_.input.empty_mask();
    return keep_probable(context, gathered_.input, options.threshold, prediction_.mask);
  }
  if (options.kind == PredictorKind::kThreshold) {
    if (!quick_) quick_.emplace(options);
    return quick_->predict(context, gathered_.input, options.quantiser, prediction_);
  }
  const bool same = mode == Mode::kEvaluate && predictors_ && predictors_->query.value == clips.query.value &&
                    predictors_->key.value == clips.key.value;
  if (!same) predictor_ = make_predictor(options);
  predictors_ = mode == Mode::kEvaluate ? std::optional(clips) : std::nullopt;
  predictor_->predict(context, gathered_.input, {}, prediction_);
}

void PrunedAttention::find_blocks() {
  blocks_.reset();
  if (!pruning_.predictor || pruning_.predictor->kind == PredictorKind::kBlocks) {
    const Count block = pruning_.predictor ? pruning_.predictor->block : 0;
    const bool whole = !pruning_.pattern && (block == 16 || block == 32 || block == 64);
    blocks_ = whole ? blocks_of(prediction_.mask, block) : largest_blocks_of(prediction_.mask);
  }
}

void PrunedAttention::predict(kernels::Context& context, const Attention& attention) {
  prediction_.emptied.clear();
  prediction_.clips.reset();
  const AttentionInput& input = gathered_.input;
  if (!pruning_.predictor && pruning_.empty == EmptyRows::kZero) {
    gather_shape(attention, gathered_.input);
  } else {
    ORRERY_CHECK(!pruning_.predictor || unpredictable(attention).empty(), "predictors know no such bias or window");
    gather(context, attention, pruning_.scaled_queries, gathered_);
  }
  const bool there = has_pairs(attention);
  if (pruning_.predictor && there) {
    PredictorOptions options = *pruning_.predictor;
    // What the pattern takes away comes first: a row that both leave empty is settled once.
    options.empty = pruning_.pattern ? EmptyRows::kZero : pruning_.empty;
    if (pruning_.quantises()) take_clips(context, options);
    if (mode == Mode::kCalibrate) return;
    predict_scores(context, options);
  } else {
    prediction_.mask = input.empty_mask();
  }
  if (pruning_.pattern) intersect(*pruning_.pattern, prediction_.mask, !pruning_.predictor);
  if (there && (pruning_.pattern || pruning_.exact) && pruning_.empty != EmptyRows::kZero) {
    prediction_.emptied.clear();
    settle_empty(context, input, pruning_.empty, prediction_.mask, prediction_.emptied);
  }
  find_blocks();
}

kernels::KeptPairs PrunedAttention::kept() const {
  const Mask& mask = prediction_.mask;
  kernels::KeptPairs kept;
  kept.bits = blocks_ ? blocks_->bits.data() : mask.row(0, 0, 0);
  kept.block = blocks_ ? blocks_->block : 1;
  kept.row = blocks_ ? blocks_->words : mask.words();
  kept.head = blocks_ ? blocks_->rows * blocks_->words : mask.rows() * mask.words();
  kept.batch = mask.heads() * kept.head;
  return kept;
}

void PrunedAttention::attend(kernels::Context& context, const Attention& attention) {
  Attention pruned = attention;
  const kernels::KeptPairs pairs = kept();
  if (prunes()) pruned.kept = &pairs;
  kernels::plain::takes(attention.type) ? kernels::plain::attend(context, pruned) : kernels::attend(context, pruned);
}

void PrunedAttention::forward(kernels::Context& context, const Attention& attention) {
  ORRERY_CHECK(attention.kept == nullptr, "what is kept is decided here");
  if (attention.batch == 0 || attention.queries == 0) return;
  if (pruning_.prunes()) predict(context, attention);
  attend(context, attention);
}

void PrunedAttention::backward(kernels::Context& context, const Attention& attention) {
  if (attention.batch == 0 || attention.queries == 0) return;
  ORRERY_CHECK(mode != Mode::kCalibrate, "nothing is learned while thresholds are calibrated");
  const MaskShape asked = {attention.batch, attention.heads, attention.queries, attention.keys};
  ORRERY_CHECK(!prunes() || prediction_.mask.shape() == asked, "forward() comes first");
  Attention pruned = attention;
  const kernels::KeptPairs pairs = kept();
  if (prunes()) pruned.kept = &pairs;
  kernels::plain::takes(attention.type) ? kernels::plain::attend_back(context, pruned)
                                        : kernels::attend_back(context, pruned);
}

}  // namespace orrery::masks
