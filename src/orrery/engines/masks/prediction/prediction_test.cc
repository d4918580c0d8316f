// Predictions against exact integer products in fp64, at every instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/engines/masks/measure.h"
#include "orrery/engines/masks/prediction/predictor.h"
#include "orrery/engines/masks/random_input_test_util.h"

namespace orrery::masks {
namespace {

using testing::plain_probabilities;
using testing::Random;
using testing::random_shape;
using testing::RandomInput;

std::string code_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const base::InputError& error) {
    return error.diagnostics.front().code;
  }
  return "";
}

Prediction predicted(kernels::Context& context, const AttentionInput& input, const PredictorOptions& options) {
  Prediction out;
  make_predictor(options)->predict(context, input, {}, out);
  return out;
}

TEST(Codes, RoundHalfToEvenAndClampAtEveryWidth) {
  const std::vector<float> x = {0.5F, 1.5F, 2.5F, -0.5F, -1.5F, 6.5F, 7.5F, -7.5F, 100, -100};
  for (const auto& context : kernels::testing::contexts(1)) {
    AttentionInput input;
    input.shape = {1, 1, 1, 1};
    input.depth = static_cast<Count>(x.size());
    input.query = input.key = x.data();
    QuantiserOptions options{4, Normalise::kNone, 7.0F, 7.0F};
    Quantised out;
    quantise(*context, input, options, out);
    EXPECT_EQ(out.query.codes, (std::vector<std::int8_t>{0, 2, 2, 0, -2, 6, 7, -7, 7, -7}));
    for (const int bits : {2, 6, 8}) {
      options.bits = bits;
      options.query_clip = static_cast<float>(most_code(bits));
      quantise(*context, input, options, out);
      EXPECT_EQ(*std::max_element(out.query.codes.begin(), out.query.codes.end()), std::min(most_code(bits), 100));
      EXPECT_EQ(*std::min_element(out.query.codes.begin(), out.query.codes.end()), std::max(-most_code(bits), -100));
    }
  }
}

TEST(Codes, OfUnitRowsDoNotDependOnTheRowsLengthsAndZerosStayZero) {
  for (const auto& context : kernels::testing::contexts(1)) {
    Random random(5);
    RandomInput x({1, 1, 6, 4}, 37, random);
    std::fill_n(x.query.begin() + 37, 37, 0.0F);
    Quantised once, again;
    quantise(*context, x.input, {}, once);
    const float factors[] = {1, 1, 0x1p-70F, 0x1p70F, 2, 0.5F};
    for (std::size_t i = 0; i < x.query.size(); ++i) x.query[i] *= factors[i / 37];
    x.input.scale = 0x1p-80F;
    quantise(*context, x.input, {}, again);
    EXPECT_EQ(once.query.codes, again.query.codes);
    EXPECT_TRUE(
        std::all_of(once.query.codes.begin() + 37, once.query.codes.begin() + 74, [](int c) { return c == 0; }));
  }
}

TEST(ClipThreshold, FollowsLaterMaximaByATenThousandth) {
  ClipThreshold threshold;
  threshold.observe(4);
  EXPECT_EQ(threshold.value, 4);
  threshold.observe(14);
  EXPECT_NEAR(threshold.value, 4.001, 1e-6);
}

TEST(Quantiser, WithoutAScaleIsAnErrorNotAUniformPrediction) {
  kernels::Context context(1);
  Random random(1);
  RandomInput x({1, 1, 3, 3}, 8, random);
  Quantised out;
  for (const float clip : {0.0F, -1.0F, HUGE_VALF, std::nanf(""), 1e-44F})
    EXPECT_EQ(code_of([&] {
                quantise(context, x.input, {4, Normalise::kInnerProduct, clip, {}}, out);
              }),
              "O1807")
        << clip;
  std::fill(x.query.begin(), x.query.end(), 0.0F);
  EXPECT_EQ(code_of([&] { quantise(context, x.input, {}, out); }), "O1807");
  std::fill(x.query.begin(), x.query.end(), 1e30F);
  std::fill(x.key.begin(), x.key.end(), 1e30F);
  EXPECT_EQ(code_of([&] { quantise(context, x.input, {}, out); }), "O1808");
}

// Bits differ only where the probability is the threshold to rounding.
TEST(Quantiser, RefusesNumbersThatAreNotFiniteWhereverTheyStand) {
  for (const float bad : {NAN, -NAN, HUGE_VALF, -HUGE_VALF})
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
      kernels::Context context(1);
      Random random(seed);
      RandomInput x(random_shape(random, 40), random(1, 70), random);
      std::vector<float>& of = random.one_in(2) ? x.query : x.key;
      of[static_cast<std::size_t>(random(0, static_cast<Count>(of.size()) - 1))] = bad;
      PredictorOptions options;
      options.kind = random.pick({PredictorKind::kThreshold, PredictorKind::kTopK, PredictorKind::kRounds});
      options.quantiser.normalise = random.pick({Normalise::kNone, Normalise::kInnerProduct});
      if (random.one_in(2)) options.quantiser.query_clip = options.quantiser.key_clip = 0.5F;
      try {
        predicted(context, x.input, options);
        FAIL() << seed;
      } catch (const base::InputError& error) {
        EXPECT_EQ(error.diagnostics.front().code, "O1884");
      }
    }
}

TEST(Threshold, KeepsWhatExactIntegersInFp64Keep) {
  for (const auto& context : kernels::testing::contexts()) {
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
      Random random(seed);
      RandomInput x(random_shape(random, 150), random.pick<Count>({1, 3, 16, 31, 64, 65, 100, 700}), random);
      if (random.one_in(2)) x.pad_keys(random);
      x.input.causal = random.one_in(3);
      PredictorOptions options;
      options.quantiser.bits = random.pick({2, 4, 6, 8});
      options.quantiser.normalise = random.pick({Normalise::kInnerProduct, Normalise::kNone});
      options.threshold = random.pick({0.001, 0.02, 0.1, 0.4});
      options.empty = EmptyRows::kZero;
      const Mask mask = predicted(*context, x.input, options).mask;
      Quantised codes;
      quantise(*context, x.input, options.quantiser, codes);
      const std::vector<double> plain = plain_probabilities(x.input, codes);
      const std::vector<std::uint8_t> bits = bytes_of(mask);
      for (std::size_t i = 0; i < plain.size(); ++i) {
        if (std::fabs(plain[i] / options.threshold - 1) > 2e-5) {
          ASSERT_EQ(bits[i] != 0, plain[i] > options.threshold)
              << kernels::testing::name_of(*context) << " " << seed << " " << i;
        }
      }
    }
  }
}

TEST(Threshold, IsTheSameForAnyNumberOfThreads) {
  Random random(3);
  RandomInput x({2, 3, 200, 130}, 64, random);
  kernels::Context one(1), four(4);
  for (const PredictorKind kind : {PredictorKind::kThreshold, PredictorKind::kTopK, PredictorKind::kRounds,
                                   PredictorKind::kBlocks, PredictorKind::kWindow}) {
    PredictorOptions options;
    options.kind = kind;
    options.threshold = 0.05;
    const Prediction a = predicted(one, x.input, options), b = predicted(four, x.input, options);
    EXPECT_EQ(a.mask, b.mask);
    EXPECT_EQ(a.emptied, b.emptied);
  }
}

TEST(Threshold, DensityFallsAsItRisesAndAtZeroAllThatIsThereIsKept) {
  kernels::Context context(2);
  Random random(4);
  RandomInput x({2, 2, 90, 90}, 64, random);
  x.pad_keys(random);
  for (const bool causal : {false, true}) {
    x.input.causal = causal;
    double before = 1;
    for (const double threshold : {0.0, 1e-6, 1e-4, 1e-2, 0.05, 0.3, 0.9}) {
      PredictorOptions options;
      options.threshold = threshold;
      options.empty = EmptyRows::kZero;
      const double density = measure(predicted(context, x.input, options).mask).density;
      if (threshold == 0) {
        EXPECT_EQ(density, 1);
      }
      EXPECT_LE(density, before);
      before = density;
    }
    EXPECT_LT(before, 0.1);
  }
}

TEST(Threshold, PermutingKeysPermutesTheMask) {
  Random random(6);
  RandomInput x({1, 2, 70, 101}, 64, random);
  std::vector<Count> order(101);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(9));
  kernels::Context context(1);
  PredictorOptions options;
  options.threshold = 0.004;
  const Mask mask = predicted(context, x.input, options).mask;
  const std::vector<float> keys = x.key;
  for (Count h = 0; h < 2; ++h)
    for (Count c = 0; c < 101; ++c)
      std::copy_n(keys.begin() + (h * 101 + order[static_cast<std::size_t>(c)]) * 64, 64,
                  x.key.begin() + (h * 101 + c) * 64);
  const Mask moved = predicted(context, x.input, options).mask;
  Count flips = 0;  // sums over a row run in another order
  for (Count h = 0; h < 2; ++h)
    for (Count r = 0; r < 70; ++r)
      for (Count c = 0; c < 101; ++c)
        flips += moved.kept(0, h, r, c) != mask.kept(0, h, r, order[static_cast<std::size_t>(c)]);
  EXPECT_LE(flips, 1);
}

TEST(EmptyRows, FollowTheirPolicyAndNoOtherRowChanges) {
  for (const auto& context : kernels::testing::contexts()) {
    Random random(8);
    RandomInput x({1, 2, 66, 80}, 32, random);
    x.pad_keys(random);
    x.input.causal = true;
    PredictorOptions options;
    options.threshold = 0.3;
    options.empty = EmptyRows::kZero;
    const Prediction zero = predicted(*context, x.input, options);
    options.empty = EmptyRows::kArgmax;
    const Prediction argmax = predicted(*context, x.input, options);
    options.empty = EmptyRows::kDense;
    const Prediction dense = predicted(*context, x.input, options);
    ASSERT_GT(zero.emptied.size(), 5U);
    EXPECT_EQ(zero.emptied, argmax.emptied);
    Quantised codes;
    quantise(*context, x.input, options.quantiser, codes);
    const std::vector<double> plain = plain_probabilities(x.input, codes);
    There there(dense.mask, 0);
    for (Count h = 0; h < 2; ++h)
      for (Count r = 0; r < 66; ++r) {
        const bool empty = std::count(zero.emptied.begin(), zero.emptied.end(), h * 66 + r) > 0;
        if (!empty) {
          EXPECT_TRUE(std::equal(zero.mask.row(0, h, r), zero.mask.row(0, h, r) + 2, argmax.mask.row(0, h, r)));
          EXPECT_TRUE(std::equal(zero.mask.row(0, h, r), zero.mask.row(0, h, r) + 2, dense.mask.row(0, h, r)));
          continue;
        }
        EXPECT_EQ(zero.mask.kept_in_row(0, h, r), 0);
        ASSERT_EQ(argmax.mask.kept_in_row(0, h, r), 1);
        argmax.mask.for_each_kept(0, h, r, [&](Count c) {
          const double* row = plain.data() + (h * 66 + r) * 80;
          EXPECT_NEAR(row[c], *std::max_element(row, row + 80), 1e-6);
        });
        EXPECT_TRUE(std::equal(dense.mask.row(0, h, r), dense.mask.row(0, h, r) + 2, there.keys_of(r).begin()));
      }
  }
}

TEST(Rows, WithoutAnyKeyKeepNothingWhateverThePolicy) {
  kernels::Context context(1);
  Random random(2);
  RandomInput x({2, 1, 5, 5}, 16, random);
  x.input.valid_columns = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1};
  for (const PredictorKind kind : {PredictorKind::kThreshold, PredictorKind::kTopK, PredictorKind::kRounds,
                                   PredictorKind::kBlocks, PredictorKind::kWindow}) {
    PredictorOptions options;
    options.kind = kind;
    options.empty = EmptyRows::kDense;
    const Mask mask = predicted(context, x.input, options).mask;
    EXPECT_EQ(mask.kept_in_row(0, 0, 3), 0);
    EXPECT_GT(mask.kept_in_row(1, 0, 3), 0);
  }
}

TEST(TopK, KeepsItsShareAndNothingLargerIsLeftOut) {
  kernels::Context context(2);
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    RandomInput x(random_shape(random, 90), 64, random);
    if (random.one_in(2)) x.pad_keys(random);
    x.input.causal = random.one_in(2);
    PredictorOptions options;
    options.kind = PredictorKind::kTopK;
    options.keep = random.pick({0.01, 0.1, 0.5, 1.0});
    const Mask mask = predicted(context, x.input, options).mask;
    Quantised codes;
    quantise(context, x.input, options.quantiser, codes);
    const std::vector<double> plain = plain_probabilities(x.input, codes);
    for (Count b = 0; b < mask.batch(); ++b) {
      There there(mask, b);
      for (Count h = 0; h < mask.heads(); ++h)
        for (Count r = 0; r < mask.rows(); ++r) {
          Count keys = 0;
          for (const Word word : there.keys_of(r)) keys += std::popcount(word);
          ASSERT_EQ(mask.kept_in_row(b, h, r), static_cast<Count>(std::ceil(options.keep * static_cast<double>(keys))));
          double least = 1, left = 0;
          for (Count c = 0; c < mask.columns(); ++c) {
            const double p =
                plain[static_cast<std::size_t>(((b * mask.heads() + h) * mask.rows() + r) * mask.columns() + c)];
            (mask.kept(b, h, r, c) ? least : left) = mask.kept(b, h, r, c) ? std::min(least, p) : std::max(left, p);
          }
          if (mask.kept_in_row(b, h, r) > 0) {
            ASSERT_GE(least, left - 1e-6);
          }
        }
    }
  }
}

TEST(Rounds, KeepWhatExceedsTheMeanTwice) {
  kernels::Context context(1);
  Random random(12);
  RandomInput x({1, 2, 40, 100}, 64, random);
  PredictorOptions options;
  options.kind = PredictorKind::kRounds;
  const Mask mean = predicted(context, x.input, options).mask;
  const double density = measure(mean).density;
  EXPECT_GT(density, 0.15);  // half of half, of symmetric scores
  EXPECT_LT(density, 0.35);
  options.alpha[0] = options.alpha[1] = 0.5;
  const Mask strict = predicted(context, x.input, options).mask;
  EXPECT_LT(measure(strict).density, density);
  options.alpha[0] = options.alpha[1] = -0.5;
  EXPECT_GT(measure(predicted(context, x.input, options).mask).density, density);
  for (Count r = 0; r < 40; ++r) EXPECT_GT(strict.kept_in_row(0, 0, r), 0);
}

TEST(Blocks, FindTheBlockThatQueriesPointTo) {
  kernels::Context context(1);
  Random random(13);
  RandomInput x({1, 1, 64, 64}, 16, random);
  // Keys of block 2 (of 16) agree with all queries.
  std::fill(x.query.begin(), x.query.end(), 1.0F);
  std::fill(x.key.begin() + 32 * 16, x.key.begin() + 48 * 16, 1.0F);
  std::fill(x.key.begin(), x.key.begin() + 32 * 16, -1.0F);
  std::fill(x.key.begin() + 48 * 16, x.key.end(), 0.0F);
  PredictorOptions options;
  options.kind = PredictorKind::kBlocks;
  options.block = 16;
  options.keep = 0.25;
  Mask mask = predicted(context, x.input, options).mask;
  for (Count r = 0; r < 64; ++r)
    for (Count c = 0; c < 64; ++c) ASSERT_EQ(mask.kept(0, 0, r, c), c / 16 == 2);
  x.input.causal = true;  // the diagonal block stays, what lies beyond it goes
  mask = predicted(context, x.input, options).mask;
  for (Count r = 0; r < 64; ++r) {
    EXPECT_TRUE(mask.kept(0, 0, r, r));
    for (Count c = r + 1; c < 64; ++c) ASSERT_FALSE(mask.kept(0, 0, r, c));
  }
}

TEST(Window, KeepsTheNearestAndTheFirstKeys) {
  kernels::Context context(1);
  Random random(14);
  RandomInput x({1, 1, 30, 30}, 4, random);
  PredictorOptions options;
  options.kind = PredictorKind::kWindow;
  options.window = 3;
  options.sinks = 2;
  for (const bool causal : {false, true}) {
    x.input.causal = causal;
    const Mask mask = predicted(context, x.input, options).mask;
    for (Count r = 0; r < 30; ++r)
      for (Count c = 0; c < 30; ++c)
        ASSERT_EQ(mask.kept(0, 0, r, c), (std::abs(r - c) < 3 || c < 2) && (!causal || c <= r));
  }
}

}  // namespace
}  // namespace orrery::masks
