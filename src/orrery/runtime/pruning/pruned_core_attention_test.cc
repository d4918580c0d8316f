// Pruned attention against its definition, in a layer and alone.
#include "orrery/runtime/pruning/pruned_core.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "orrery/engines/masks/static_mask.h"

namespace orrery::pruning {
namespace {

using kernels::Attention;
using kernels::Index;
using masks::Count;

// Sequences of different lengths behind one another, as a layer has them; queries, keys and values beside one another.
struct Case {
  Index batch = 0, heads = 0, most = 0, size = 0;
  std::vector<Index> lengths, starts;
  std::vector<float> qkv, out, log_sum, out_gradient, gradients;
  Attention attention;

  explicit Case(unsigned seed, bool causal) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    batch = 1 + random() % 3, heads = 1 + random() % 3, size = 3 + random() % 6;
    Index rows = 0;
    for (Index b = 0; b < batch; ++b) {
      lengths.push_back(1 + random() % 70);
      starts.push_back(rows);
      rows += lengths.back();
      most = std::max(most, lengths.back());
    }
    const Index width = heads * size;
    const auto fill = [&](std::vector<float>& to, Index count) {
      to.resize(static_cast<std::size_t>(count));
      for (float& one : to) one = normal(random);
    };
    fill(qkv, rows * 3 * width);
    fill(out_gradient, rows * width);
    out.resize(out_gradient.size());
    gradients.resize(qkv.size());
    log_sum.resize(static_cast<std::size_t>(batch * heads * most));
    Attention& a = attention;
    a.batch = batch, a.heads = a.key_heads = heads, a.queries = a.keys = most, a.size = a.value_size = size;
    a.scale = 1 / std::sqrt(static_cast<double>(size));
    if (causal) a.reach_ahead = 0;
    a.query_lengths = a.key_lengths = lengths.data(), a.query_starts = a.key_starts = starts.data();
    const auto part = [&](std::vector<float>& of, Index which) {
      return kernels::Vectors{of.data() + which * width, most * 3 * width, size, 3 * width};
    };
    a.query = part(qkv, 0), a.key = part(qkv, 1), a.value = part(qkv, 2);
    a.query_gradient = part(gradients, 0), a.key_gradient = part(gradients, 1), a.value_gradient = part(gradients, 2);
    a.out = {out.data(), most * width, size, width};
    a.out_gradient = {out_gradient.data(), most * width, size, width};
    a.log_sum = log_sum.data();
  }

  double at(const std::vector<float>& of, Index part, Index b, Index h, Index p, Index i) const {
    return of[static_cast<std::size_t>(((starts[static_cast<std::size_t>(b)] + p) * 3 + part) * heads * size +
                                       h * size + i)];
  }

  // The output by the definition, in fp64, over what `mask` keeps.
  std::vector<double> exact(const masks::Mask& mask) const {
    std::vector<double> result(out.size(), 0.0);
    for (Index b = 0; b < batch; ++b)
      for (Index h = 0; h < heads; ++h)
        for (Index j = 0; j < lengths[static_cast<std::size_t>(b)]; ++j) {
          std::vector<double> p;
          double sum = 0;
          for (Index k = 0; k < lengths[static_cast<std::size_t>(b)]; ++k) {
            double s = 0;
            for (Index i = 0; i < size; ++i) s += at(qkv, 0, b, h, j, i) * at(qkv, 1, b, h, k, i);
            const bool seen = mask.kept(b, h, j, k) && (!mask.causal || k <= j);
            sum += p.emplace_back(seen ? std::exp(s * attention.scale) : 0.0);
          }
          double* const to = result.data() + (starts[static_cast<std::size_t>(b)] + j) * heads * size + h * size;
          for (std::size_t k = 0; k < p.size() && sum > 0; ++k)
            for (Index i = 0; i < size; ++i) to[i] += p[k] / sum * at(qkv, 2, b, h, static_cast<Index>(k), i);
        }
    return result;
  }

  double loss(const std::vector<double>& outputs) const {
    double sum = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) sum += outputs[i] * out_gradient[i];
    return sum;
  }
};

masks::Pruning random_pruning(unsigned seed) {
  std::mt19937 random(seed);
  masks::Pruning pruning;
  if (random() % 4 != 0) {
    masks::PredictorOptions options;
    options.kind = static_cast<masks::PredictorKind>(random() % 5);
    options.threshold = std::vector{0.002, 0.02, 0.2, 0.7}[random() % 4];
    options.quantiser.bits = 2 + 2 * static_cast<int>(random() % 4);
    options.keep = 0.3;
    options.block = 8, options.window = 5, options.sinks = 2;
    pruning.predictor = options;
    pruning.exact = options.kind == masks::PredictorKind::kThreshold && random() % 2 == 0;
  }
  if (!pruning.predictor || random() % 2 == 0) {
    masks::Pattern pattern;
    pattern.kind = random() % 2 == 0 ? masks::PatternKind::kLongformer : masks::PatternKind::kBlockStructured;
    pattern.block = random() % 2 == 0 ? 8 : 16;
    pattern.per_head = true;
    pruning.pattern = std::make_shared<masks::Mask>(masks::static_mask(pattern, 128, 1, 5));
  }
  pruning.empty = static_cast<masks::EmptyRows>(random() % 3);
  return pruning;
}

TEST(PrunedAttention, IsMaskedAttentionByItsDefinition) {
  kernels::Context context(2);
  for (unsigned seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    Case one(seed, seed % 3 == 0);
    PrunedAttention core(random_pruning(seed));
    core.forward(context, one.attention);
    const std::vector<double> wanted = one.exact(core.prediction().mask);
    for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(one.out[i], wanted[i], 2e-5) << i;
    if (core.pruning().empty == masks::EmptyRows::kZero) continue;
    const masks::Mask inside = masks::inside_valid(core.prediction().mask);
    for (Index b = 0; b < one.batch; ++b)
      for (Index h = 0; h < one.heads; ++h)
        for (Index j = 0; j < one.lengths[static_cast<std::size_t>(b)]; ++j)
          ASSERT_GT(inside.kept_in_row(b, h, j), 0) << "a row keeps something unless it may be empty";
  }
}

TEST(PrunedAttention, GradientsAreFiniteDifferencesWhereTheMaskStays) {
  kernels::Context context(2);
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Case one(seed, seed % 3 == 0);
    PrunedAttention core(random_pruning(seed));
    core.forward(context, one.attention);
    core.backward(context, one.attention);
    std::mt19937 random(seed);
    for (int tried = 0; tried < 12; ++tried) {
      const std::size_t at = random() % one.qkv.size();
      const float was = one.qkv[at], step = 1e-3F;
      one.qkv[at] = was + step;
      const double above = one.loss(one.exact(core.prediction().mask));
      one.qkv[at] = was - step;
      const double below = one.loss(one.exact(core.prediction().mask));
      one.qkv[at] = was;
      EXPECT_NEAR(one.gradients[at], (above - below) / (2 * step), 2e-3) << at;
    }
  }
}

TEST(PrunedAttention, TheSameForAnyNumberOfThreads) {
  kernels::Context one_thread(1), three_threads(3);
  for (unsigned seed = 0; seed < 30; ++seed) {
    Case a(seed, false), b(seed, false);
    PrunedAttention first(random_pruning(seed)), second(random_pruning(seed));
    first.forward(one_thread, a.attention);
    second.forward(three_threads, b.attention);
    first.backward(one_thread, a.attention);
    second.backward(three_threads, b.attention);
    EXPECT_EQ(first.prediction().mask, second.prediction().mask);
    EXPECT_EQ(a.out, b.out);
    EXPECT_EQ(a.gradients, b.gradients);
  }
}

TEST(PrunedAttention, ThresholdsAreLearnedAsARunningMaximumAndFrozenInEvaluation) {
  kernels::Context context(1);
  Case one(1, false), two(2, false);
  masks::Pruning pruning;
  pruning.predictor.emplace();
  PrunedAttention core(pruning);
  core.mode = masks::Mode::kLearn;
  core.forward(context, one.attention);
  const masks::Clips first = core.clips;
  EXPECT_GT(first.query.value, 0.2F);
  EXPECT_EQ(first.query.step, 1);
  core.forward(context, two.attention);
  EXPECT_EQ(core.clips.query.step, 2);
  EXPECT_NEAR(core.clips.query.value, first.query.value, 2e-4F) << "by a ten-thousandth of the difference";
  core.mode = masks::Mode::kEvaluate;
  const masks::Clips learned = core.clips;
  core.forward(context, one.attention);
  EXPECT_EQ(core.clips.query.value, learned.query.value);
  EXPECT_EQ(core.clips.query.step, 2);
  ASSERT_TRUE(core.prediction().clips);
  EXPECT_EQ(core.prediction().clips->first, learned.query.value);

  PrunedAttention calibrated(pruning);
  calibrated.mode = masks::Mode::kCalibrate;
  calibrated.forward(context, one.attention);
  const float most = calibrated.clips.query.value;
  EXPECT_EQ(most, first.query.value);
  Case dense(1, false);
  kernels::attend(context, dense.attention);
  EXPECT_EQ(one.out, dense.out) << "what is computed meanwhile is dense";
}

}  // namespace
}  // namespace orrery::pruning
