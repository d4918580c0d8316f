#include "orrery/sparse/pruned_attention.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/check.h"
#include "orrery/base/stopwatch.h"
#include "orrery/kernels/plain.h"

namespace orrery::sparse {
namespace {

using kernels::Attention;
using kernels::Index;
using kernels::Type;
using kernels::Vectors;

// Whether vectors lie as predictors want them: fp32 [batch][heads][positions][size] without gaps, none of them padding,
// which may hold anything.
bool lies_flat(const Attention& x, const Vectors& v, Index heads, Index positions, const Index* lengths) {
  return x.type == Type::kF32 && lengths == nullptr && v.position == x.size &&
         (heads == 1 || v.head == positions * x.size) && (x.batch == 1 || v.batch == heads * positions * x.size);
}

template <class Element, class Number>
void copy_vector(const void* data, Index at, Index size, float* to, const Number& number) {
  const Element* from = static_cast<const Element*>(data) + at;
  for (Index i = 0; i < size; ++i) to[i] = number(from[i]);
}

void copy_vector(const void* data, Type type, Index at, Index size, float* to) {
  switch (type) {
    case Type::kBf16:
      return copy_vector<kernels::Bf16>(data, at, size, to, kernels::from_bf16);
    case Type::kF16:
      return copy_vector<kernels::Half>(data, at, size, to, kernels::from_half);
    case Type::kF64:
      return copy_vector<double>(data, at, size, to, [](double x) { return static_cast<float>(x); });
    default:
      return copy_vector<float>(data, at, size, to, [](float x) { return x; });
  }
}

// The vectors of each head, zeros beyond the lengths; `group` heads share one of them.
const float* flat(kernels::Context& context, const Attention& x, const Vectors& v, Index group, Index positions,
                  const Index* lengths, const Index* starts, std::vector<float>& room) {
  if (group == 1 && lies_flat(x, v, x.heads, positions, lengths)) return static_cast<const float*>(v.data);
  room.resize(static_cast<std::size_t>(x.batch * x.heads * positions * x.size));
  context.pool().run(x.batch * x.heads, [&](Index matrix, int) {
    const Index b = matrix / x.heads, h = matrix % x.heads, there = lengths == nullptr ? positions : lengths[b];
    const Index begin = (starts == nullptr ? b * v.batch : starts[b] * v.position) + h / group * v.head;
    float* to = room.data() + matrix * positions * x.size;
    for (Index p = 0; p < there; ++p) copy_vector(v.data, x.type, begin + p * v.position, x.size, to + p * x.size);
    std::fill_n(to + there * x.size, (positions - there) * x.size, 0.0F);
  });
  return room.data();
}

std::vector<std::uint8_t> valid_of(const Index* lengths, Index batch, Index positions) {
  std::vector<std::uint8_t> valid;
  if (lengths == nullptr) return valid;
  for (Index b = 0; b < batch; ++b)
    for (Index p = 0; p < positions; ++p) valid.push_back(p < lengths[b] ? 1 : 0);
  return valid;
}

// Whether any query and any key of one sequence are there.
bool has_pairs(const Attention& x) {
  for (Index b = 0; b < x.batch; ++b)
    if ((x.query_lengths == nullptr ? x.queries : x.query_lengths[b]) > 0 &&
        (x.key_lengths == nullptr ? x.keys : x.key_lengths[b]) > 0)
      return true;
  return false;
}

}  // namespace

std::string unpredictable(const Attention& x) {
  if (x.bias != nullptr) return "a bias is added to scores";
  if (x.reach_back >= 0) return fmt::format("queries see the last {} keys only", x.reach_back + 1);
  if (x.reach_ahead > 0 || (x.reach_ahead == 0 && x.query_offset != x.keys - x.queries))
    return fmt::format("query 0 of {} sees keys up to number {} of {}, not up to its own place from the end", x.queries,
                       x.query_offset + x.reach_ahead, x.keys);
  return {};
}

PrunedAttention::PrunedAttention(const PredictorOptions& options) : options_(options) {
  if (options.kind == PredictorKind::kThreshold)
    quick_.emplace(options);
  else
    predictor_ = make_predictor(options);
}

PrunedAttention::PrunedAttention(Mask pattern) : pattern_(std::move(pattern)) {
  ORRERY_CHECK(pattern_.batch() == 1, "a pattern is of one sequence");
}

void PrunedAttention::train_clips(ClipThreshold* query, ClipThreshold* key) {
  query_clip_ = query;
  key_clip_ = key;
}

void PrunedAttention::take(kernels::Context& context, const Attention& x, bool with_numbers) {
  input_.shape = {x.batch, x.heads, x.queries, x.keys};
  input_.depth = x.size;
  input_.scale = static_cast<float>(x.scale);
  input_.causal = x.reach_ahead == 0 && x.reach_back < 0 && x.query_offset == x.keys - x.queries;
  input_.valid_rows = valid_of(x.query_lengths, x.batch, x.queries);
  input_.valid_columns = valid_of(x.key_lengths, x.batch, x.keys);
  if (!with_numbers) return;
  input_.query = flat(context, x, x.query, 1, x.queries, x.query_lengths, x.query_starts, query_);
  input_.key = flat(context, x, x.key, x.heads / x.key_heads, x.keys, x.key_lengths, x.key_starts, key_);
}

void PrunedAttention::predict(kernels::Context& context, bool there) {
  if (!there) {  // nothing to learn a scale from
    prediction_ = {input_.empty_mask(), {}, std::nullopt};
    return;
  }
  if (predictor_ != nullptr) return predictor_->predict(context, input_, {}, prediction_);
  QuantiserOptions quantiser = options_.quantiser;
  quantiser.query_running = query_clip_;
  quantiser.key_running = key_clip_;
  quick_->predict(context, input_, quantiser, prediction_);
}

Attention PrunedAttention::pruned(const Attention& attention) {
  const Mask& mask = prediction_.mask;
  kept_ = {};
  if (blocks_) {
    kept_.bits = blocks_->bits.data();
    kept_.block = blocks_->block;
    kept_.row = blocks_->words;
    kept_.head = blocks_->rows * blocks_->words;
  } else {
    kept_.bits = mask.row(0, 0, 0);
    kept_.row = mask.words();
    kept_.head = mask.rows() * mask.words();
  }
  kept_.batch = mask.heads() * kept_.head;
  Attention out = attention;
  out.kept = &kept_;
  return out;
}

void PrunedAttention::forward(kernels::Context& context, const Attention& x) {
  ORRERY_CHECK(x.kept == nullptr, "what is kept is decided here");
  if (x.batch == 0 || x.queries == 0) return;
  const bool predicts = predictor_ != nullptr || quick_;
  ORRERY_CHECK(!predicts || unpredictable(x).empty(), "predictors know no bias and no window");
  const base::Stopwatch clock;
  take(context, x, predicts);
  if (predicts) {
    predict(context, has_pairs(x));
    blocks_.reset();
    if (options_.kind == PredictorKind::kBlocks &&
        (options_.block == 16 || options_.block == 32 || options_.block == 64))
      blocks_ = blocks_of(prediction_.mask, options_.block);
  } else {
    ORRERY_CHECK(pattern_.rows() >= x.queries && pattern_.columns() >= x.keys &&
                     (pattern_.heads() == 1 || pattern_.heads() == x.heads),
                 "a pattern has room for the request");
    Mask mask = input_.empty_mask();
    for (Count b = 0; b < x.batch; ++b)
      for (Count h = 0; h < x.heads; ++h)
        for (Count r = 0; r < x.queries; ++r) {
          const Word* from = pattern_.row(0, pattern_.heads() == 1 ? 0 : h, r);
          Word* to = mask.row(b, h, r);
          std::copy_n(from, mask.words(), to);
          if (x.keys % kWordBits != 0) to[mask.words() - 1] &= (Word{1} << (x.keys % kWordBits)) - 1;
        }
    prediction_ = {std::move(mask), {}, std::nullopt};
    blocks_ = largest_blocks_of(prediction_.mask);
  }
  predict_seconds_ = clock.seconds();
  kernels::plain::takes(x.type) ? kernels::plain::attend(context, pruned(x)) : kernels::attend(context, pruned(x));
}

void PrunedAttention::backward(kernels::Context& context, const Attention& x) {
  if (x.batch == 0 || x.queries == 0) return;
  ORRERY_CHECK(prediction_.mask.shape() == (MaskShape{x.batch, x.heads, x.queries, x.keys}), "forward() comes first");
  kernels::plain::takes(x.type) ? kernels::plain::attend_back(context, pruned(x))
                                : kernels::attend_back(context, pruned(x));
}

}  // namespace orrery::sparse
