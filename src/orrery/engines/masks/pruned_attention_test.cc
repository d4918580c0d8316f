// Predicted, then pruned: the same as dense attention with the predictor's mask, in every form that a request has.
#include "orrery/engines/masks/pruned_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "orrery/engines/masks/random_input_test_util.h"
#include "orrery/engines/masks/static_mask.h"
#include "orrery/runtime/kernels/attention_case_test_util.h"
#include "orrery/runtime/kernels/plain/plain.h"

namespace orrery::masks {
namespace {

using kernels::Attention;
using kernels::Index;
using kernels::Type;
using kernels::testing::Case;
using kernels::testing::Random;
using kernels::testing::request;
using testing::RandomInput;

PredictorOptions random_options(Random& random) {
  PredictorOptions options;
  options.kind = random.pick({PredictorKind::kThreshold, PredictorKind::kThreshold, PredictorKind::kThreshold,
                              PredictorKind::kTopK, PredictorKind::kBlocks, PredictorKind::kWindow});
  options.threshold = random.pick({0.002, 0.02, 0.1, 0.5});
  options.keep = random.pick({0.1, 0.4, 1.0});
  options.block = random.pick<Count>({16, 32, 64, 10});
  options.window = 3;
  options.empty = random.pick({EmptyRows::kArgmax, EmptyRows::kDense, EmptyRows::kZero});
  options.quantiser.bits = random.one_in(5) ? kExactBits : static_cast<int>(2 * random(1, 4));
  return options;
}

// A request that predictors understand: no bias, no window but the diagonal.
Case predictable_case(Random& random, Index most, Type type) {
  Case c = random_case(random, most, type);
  c.bias.clear();
  c.x.bias_query = c.x.bias_head = c.x.bias_batch = 0;
  c.x.query_offset = 0, c.x.reach_back = c.x.reach_ahead = -1;
  if (random.one_in(3)) c.x.query_offset = c.x.keys - c.x.queries, c.x.reach_ahead = 0;
  return c;
}

// Runs both passes and compares them with fp64 by the mask that was kept.
void check_passes(kernels::Context& context, PrunedAttention& pruned, Case& c, const std::string& what) {
  Attention x = request(c);
  std::vector<double> log_sum(c.log_sum.size());  // doubles where the type is kF64
  x.log_sum = reinterpret_cast<float*>(log_sum.data());
  pruned.forward(context, x);
  pruned.backward(context, x);
  const Mask& mask = pruned.prediction().mask;
  c.pruned = true;
  for (Index b = 0; b < x.batch; ++b)
    for (Index h = 0; h < x.heads; ++h)
      for (Index j = 0; j < x.queries; ++j)
        for (Index k = 0; k < x.keys; ++k) c.pairs.push_back(mask.kept(b, h, j, k));
  const auto e = exact(c, true);
  const double bound = x.type == Type::kBf16 ? 4e-2 : x.type == Type::kF32 ? 4e-5 : 1e-10;
  Index n = 0;
  double largest = 1;
  for (const double g : e.dk) largest = std::max(largest, std::fabs(g));
  for (Index b = 0; b < x.batch; ++b)
    for (Index h = 0; h < x.heads; ++h)
      for (Index j = 0; j < x.queries; ++j)
        for (Index i = 0; i < x.value_size; ++i) ASSERT_NEAR(c.out(b, h, j, i), e.out[n++], bound) << what;
  for (Index b = 0; b < x.batch; ++b)
    for (Index h = 0; h < x.key_heads; ++h)
      for (Index k = 0; k < x.keys; ++k)
        for (Index i = 0; i < x.size; ++i)
          ASSERT_NEAR(c.dk(b, h, k, i), e.dk[c.dk.place(b, h, k, i)], bound * largest) << what;
}

TEST(SelfPruned, IsMaskedDenseAttentionByItsOwnPrediction) {
  for (const auto& context : kernels::testing::contexts()) {
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
      Random random(seed);
      const Type type = random.pick({Type::kF32, Type::kBf16, Type::kF64});
      Case c = predictable_case(random, seed % 20 == 0 ? 150 : 40, type);
      PrunedAttention pruned(random_options(random));
      check_passes(*context, pruned, c, "seed " + std::to_string(seed) + " " + kernels::testing::name_of(*context));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(SelfPruned, ByAPatternIsMaskedDenseAttention) {
  kernels::Context context(2);
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    Case c = random_case(random, 120, random.pick({Type::kF32, Type::kBf16, Type::kF64}));
    Pattern pattern;
    pattern.kind = random.pick({PatternKind::kLongformer, PatternKind::kBigBird, PatternKind::kSliding});
    pattern.block = random.pick<Count>({16, 32, 64});
    Pruning pruning;
    pruning.pattern = std::make_shared<Mask>(static_mask(pattern, 256, random.one_in(2) ? 1 : c.x.heads, 7));
    pruning.empty = EmptyRows::kZero;  // what the request's window hides of the pattern is not looked at
    PrunedAttention pruned(pruning);
    check_passes(context, pruned, c, "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

// The quick way to Sanger's mask and the plain one.
TEST(SelfPruned, PredictsToTheLastBitWhatThePredictorDoes) {
  for (const auto& context : kernels::testing::contexts()) {
    for (std::uint32_t seed = 0; seed < 120; ++seed) {
      Random random(seed);
      RandomInput in(testing::random_shape(random, seed % 20 == 0 ? 700 : 90), random(1, 70), random);
      if (random.one_in(3)) in.pad_keys(random);
      in.input.causal = random.one_in(3);
      const float large = random.pick({0.1F, 1.0F, 1.0F, 4.0F, 30.0F});  // scores up to hundreds
      for (float& x : in.query) x *= large;
      PredictorOptions options = random_options(random);
      options.kind = PredictorKind::kThreshold;
      options.quantiser.normalise = random.one_in(3) ? Normalise::kNone : Normalise::kInnerProduct;
      if (random.one_in(3)) options.quantiser.query_clip = options.quantiser.key_clip = 0.3F;
      options.threshold = random.pick({1e-9, 1e-4, 0.002, 0.02, 0.3});
      Prediction wanted, got;
      make_predictor(options)->predict(*context, in.input, {}, wanted);
      QuickThreshold(options).predict(*context, in.input, options.quantiser, got);
      ASSERT_EQ(got.mask, wanted.mask) << seed;
      ASSERT_EQ(got.emptied, wanted.emptied) << seed;
      ASSERT_EQ(got.clips, wanted.clips) << seed;
    }
  }
}

// Sums of products of four bits are as large as they get, where they are kept in 16 bits.
TEST(SelfPruned, PredictsTheSameOfTheLargestCodesAndDepths) {
  for (const auto& context : kernels::testing::contexts()) {
    for (std::uint32_t seed = 0; seed < 24; ++seed) {
      Random random(seed);
      RandomInput in({1, 2, 21, 75}, random.pick<Count>({64, 200, 256, 257}), random);
      const bool same_sign = random.one_in(2);
      for (std::vector<float>* of : {&in.query, &in.key})
        for (float& x : *of) x = same_sign || random.one_in(2) ? 1.0F : -1.0F;
      for (std::size_t i = 0; i < in.key.size(); i += 3) in.key[i] = -in.key[i];
      PredictorOptions options;
      options.quantiser.normalise = Normalise::kNone;
      options.quantiser.query_clip = options.quantiser.key_clip = 1.0F;
      options.threshold = random.pick({0.002, 0.012, 0.02});
      Prediction wanted, got;
      make_predictor(options)->predict(*context, in.input, {}, wanted);
      QuickThreshold(options).predict(*context, in.input, options.quantiser, got);
      ASSERT_EQ(got.mask, wanted.mask) << seed;
    }
  }
}

TEST(SelfPruned, MovesClipThresholdsInTrainingAndNotInEvaluation) {
  kernels::Context context(1);
  Random random(3);
  PredictorOptions options;
  options.quantiser.normalise = Normalise::kNone;
  PrunedAttention pruned(options);
  pruned.mode = Mode::kLearn;
  const ClipThreshold &query = pruned.clips.query, &key = pruned.clips.key;
  std::vector<float> q(20 * 8, 1.0F), out(q.size());
  Attention x;
  x.queries = x.keys = 20, x.size = x.value_size = 8;
  x.query = x.key = x.value = {q.data(), 160, 160, 8};
  x.out = {out.data(), 160, 160, 8};
  q[5] = 4;
  pruned.forward(context, x);
  EXPECT_EQ(query.value, 4.0F);
  EXPECT_EQ(key.step, 1);
  q[5] = 2;
  pruned.forward(context, x);
  EXPECT_FLOAT_EQ(query.value, 4 - 1e-4F * 2);
  EXPECT_EQ(pruned.prediction().clips->first, query.value);
  pruned.mode = Mode::kEvaluate;
  pruned.forward(context, x);
  EXPECT_EQ(query.step, 2);
  EXPECT_EQ(pruned.prediction().clips->first, query.value);
  pruned.clips = {};
  pruned.forward(context, x);
  EXPECT_EQ(pruned.prediction().clips->first, 2.0F) << "without thresholds, its own maximum";
}

TEST(SelfPruned, SaysWhatCannotBePredicted) {
  Attention x;
  x.queries = 4, x.keys = 6;
  EXPECT_EQ(unpredictable(x), "");
  x.reach_ahead = 0, x.query_offset = 2;
  EXPECT_EQ(unpredictable(x), "");
  x.query_offset = 1;
  EXPECT_NE(unpredictable(x), "");
  x.reach_ahead = -1, x.query_offset = 0, x.reach_back = 3;
  EXPECT_EQ(unpredictable(x), "queries see the last 4 keys only");
  const float bias = 0;
  x.reach_back = -1, x.bias = &bias;
  EXPECT_EQ(unpredictable(x), "") << "it hides keys from all";
  x.bias_query = 6;
  EXPECT_NE(unpredictable(x), "");
}

TEST(BlockBits, AreFoundWhereAMaskIsMadeOfWholeBlocks) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    Mask mask(testing::random_shape(random, 200));
    const Count block = random.pick<Count>({16, 32, 64});
    for (Count i = 0; i < 20; ++i) {
      const Count b = random(0, mask.batch() - 1), h = random(0, mask.heads() - 1),
                  r = random(0, mask.rows() - 1) / block * block, c = random(0, mask.columns() - 1) / block * block;
      for (Count j = r; j < std::min(r + block, mask.rows()); ++j)
        for (Count k = c; k < std::min(c + block, mask.columns()); ++k) mask.keep(b, h, j, k);
    }
    const auto found = blocks_of(mask, block);
    ASSERT_TRUE(found) << seed;
    for (Count b = 0; b < mask.batch(); ++b)
      for (Count h = 0; h < mask.heads(); ++h)
        for (Count r = 0; r < mask.rows(); ++r)
          for (Count c = 0; c < mask.columns(); ++c) {
            const Word* words = found->bits.data() + ((b * mask.heads() + h) * found->rows + r / block) * found->words;
            ASSERT_EQ((words[c / block / 64] >> (c / block % 64) & 1) != 0, mask.kept(b, h, r, c)) << seed;
          }
    ASSERT_GE(largest_blocks_of(mask)->block, block);
    if (mask.kept() == 0 || mask.rows() < 2) continue;
    // One pair less, and it is no longer made of them.
    for (Count r = 0; r < mask.rows(); ++r)
      for (Count c = 0; c < mask.columns(); ++c)
        if (mask.kept(0, 0, r, c)) {
          mask.drop(0, 0, r, c);
          const bool alone = (r % block == 0 && r + 1 == mask.rows()) && (c % block == 0 && c + 1 == mask.columns());
          ASSERT_EQ(blocks_of(mask, block).has_value(), alone) << seed;
          r = mask.rows();
          break;
        }
  }
}

}  // namespace
}  // namespace orrery::masks
