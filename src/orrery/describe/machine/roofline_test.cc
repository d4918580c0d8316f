#include "orrery/describe/machine/roofline.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "orrery/describe/machine/flat_efficiency.h"
#include "orrery/describe/machine/measured_operators.h"

namespace orrery::machine {
namespace {

Accelerator a100() {
  Accelerator chip;
  chip.peak_flops_per_s = {19.5e12, 156e12, 312e12, 0};
  chip.units = 108;
  chip.memory_bytes_per_s = 2.039e12;
  chip.memory_efficiency = 0.85;
  chip.matrix_efficiency = 0.84;
  chip.fill_depth = 293;
  chip.host_seconds_per_op = 37.8e-6;
  return chip;
}

MatrixProduct any_product() {
  return {*rc::gen::inRange<base::Count>(1, 64), *rc::gen::inRange<base::Count>(1, 5000),
          *rc::gen::inRange<base::Count>(1, 5000), *rc::gen::inRange<base::Count>(1, 20000), Precision::kBf16};
}

TEST(Roofline, AFullWaveOfTilesTakesWhatTheFormulaSays) {
  // 108 tiles of 256 x 128: one wave.
  const double seconds = Roofline(a100()).matrix_product_seconds({1, 256 * 12, 128 * 9, 4096, Precision::kBf16});
  EXPECT_NEAR(seconds, 2 * 256 * 128 * (4096 + 293.0) * 108 / (312e12 * 0.84), 1e-12);
}

TEST(Roofline, OneTileMoreCostsAWholeWave) {
  const Roofline model(a100());
  const double full = model.matrix_product_seconds({1, 256 * 108, 128, 512, Precision::kBf16});
  const double more = model.matrix_product_seconds({1, 256 * 108 + 1, 128, 512, Precision::kBf16});
  EXPECT_GT(more, 1.2 * full);
}

TEST(Roofline, ADeepProductWithFewTilesIsSplit) {
  const Roofline model(a100());
  const double whole = 2 * 256 * 128 * (65536 + 293.0) * 108 / (312e12 * 0.84);
  EXPECT_LT(model.matrix_product_seconds({1, 256, 128, 65536, Precision::kBf16}), whole / 10);
}

TEST(Roofline, AThinProductWaitsForMemory) {
  const double bytes = 2.0 * (16384.0 * 16384 + 2 * 16384);
  EXPECT_NEAR(Roofline(a100()).matrix_product_seconds({1, 1, 16384, 16384, Precision::kBf16}),
              bytes / (2.039e12 * 0.85), 1e-3 * bytes / 2.039e12);
}

TEST(Roofline, AnUnsupportedPrecisionTakesForEverAndAnEmptyProductNoTime) {
  const Roofline model(a100());
  EXPECT_TRUE(std::isinf(model.matrix_product_seconds({1, 64, 64, 64, Precision::kFp8})));
  EXPECT_EQ(model.matrix_product_seconds({1, 0, 64, 64, Precision::kBf16}), 0);
}

RC_GTEST_PROP(Roofline, NeitherThePeakNorTheMemoryIsEverBeaten, ()) {
  const MatrixProduct p = any_product();
  const double seconds = Roofline(a100()).matrix_product_seconds(p);
  RC_ASSERT(seconds >= p.flops() / 312e12);
  const double bytes = 2.0 * p.batch * (1.0 * p.m * p.k + 1.0 * p.k * p.n + 1.0 * p.m * p.n);
  RC_ASSERT(seconds >= bytes / 2.039e12);
}

RC_GTEST_PROP(Roofline, FasterChipsNeverHurt, ()) {
  const MatrixProduct p = any_product();
  Accelerator better = a100();
  const double factor = 1 + *rc::gen::inRange(0, 30) / 10.0;
  (*rc::gen::arbitrary<bool>() ? better.peak_flops_per_s[2] : better.memory_bytes_per_s) *= factor;
  RC_ASSERT(Roofline(better).matrix_product_seconds(p) <= Roofline(a100()).matrix_product_seconds(p) * (1 + 1e-12));
}

RC_GTEST_PROP(Roofline, AProductThatIsLargerInEveryWayIsNeverFaster, ()) {
  const MatrixProduct p = any_product();
  RC_PRE(p.k < 2048);  // splitting K comes in steps
  MatrixProduct larger = p;
  larger.m += *rc::gen::inRange(0, 2000);
  larger.n += *rc::gen::inRange(0, 2000);
  RC_ASSERT(Roofline(a100()).matrix_product_seconds(p) <= Roofline(a100()).matrix_product_seconds(larger));
}

TEST(FlatEfficiency, TakesTheSameShareOfThePeakForEveryShape) {
  const FlatEfficiency model(a100(), 0.5);
  EXPECT_DOUBLE_EQ(model.matrix_product_seconds({2, 100, 200, 300, Precision::kBf16}), 2 * 2 * 6e6 / 156e12);
  EXPECT_DOUBLE_EQ(model.memory_bound_seconds(2.039e12 * 0.85), 1);
}

TEST(FlatEfficiency, GrowsWithTheMicrobatchUpToTheCap) {
  const MicrobatchCurve curve{.limit = 1, .half_size = 2, .cap = 0.91};
  EXPECT_DOUBLE_EQ(curve(2), 0.5);
  EXPECT_DOUBLE_EQ(curve(1000), 0.91);
}

TEST(MeasuredOperators, AMeasuredProductIsAnsweredAsMeasured) {
  const Roofline rest(a100());
  const MatrixProduct p{1, 1024, 1024, 1024, Precision::kBf16};
  const MeasuredOperators model({{p, 5e-3}, {p, 4e-3}}, rest);
  EXPECT_EQ(model.matrix_product_seconds(p), 4e-3);  // the least of equal ones
  EXPECT_TRUE(model.measured(p));
  EXPECT_FALSE(model.measured({1, 1024, 1024, 1025, Precision::kBf16}));
  EXPECT_EQ(model.memory_bound_seconds(1e9), rest.memory_bound_seconds(1e9));
  EXPECT_EQ(model.issue_seconds(), rest.issue_seconds());
}

TEST(MeasuredOperators, NeighboursShareACorrectionAndStrangersDoNot) {
  const Roofline rest(a100());
  const auto twice = [&](MatrixProduct p) { return MeasuredProduct{p, 2 * rest.matrix_product_seconds(p)}; };
  const MeasuredOperators model(
      {twice({1, 4096, 4096, 4096, Precision::kBf16}), twice({1, 8192, 4096, 4096, Precision::kBf16})}, rest);
  const MatrixProduct near{1, 4200, 4096, 4096, Precision::kBf16};
  EXPECT_NEAR(model.matrix_product_seconds(near) / rest.matrix_product_seconds(near), 2, 0.05);
  const MatrixProduct far{1, 64, 64, 64, Precision::kBf16};
  EXPECT_EQ(model.matrix_product_seconds(far), rest.matrix_product_seconds(far));
  const MatrixProduct other{1, 4096, 4096, 4096, Precision::kTf32};
  EXPECT_EQ(model.matrix_product_seconds(other), rest.matrix_product_seconds(other));
}

// 32 heads of 128, causal, of `keys` tokens.
Operator attention(base::Count keys) {
  Operator one;
  one.kind = OperatorKind::kAttention;
  one.product = {32, keys, keys, 128, Precision::kBf16};
  one.value_width = 128, one.share = 0.5, one.kernel = AttentionKernel::kFlash2;
  return one;
}

Roofline with_kernel(double share) {
  Accelerator chip = a100();
  chip.attention_efficiency[static_cast<std::size_t>(AttentionKernel::kFlash2)] = share;
  return Roofline(chip);
}

TEST(FusedAttention, ReachesItsKernelsRateOnLongSequences) {
  const Operator one = attention(1 << 20);
  const double flop = 4 * 32.0 * 128 * std::pow(2.0, 40) / 2;
  const double rate = 0.5 * 312e12;
  EXPECT_NEAR(*with_kernel(0.5).attention_seconds(one), flop / rate, 1e-3 * flop / rate);
  EXPECT_DOUBLE_EQ(*with_kernel(0.25).attention_seconds(one), 2 * *with_kernel(0.5).attention_seconds(one));
}

TEST(FusedAttention, NeverPaysForScoresThatItDoesNotWrite) {
  const Roofline roofline = with_kernel(1);
  const double scores = roofline.memory_bound_seconds(2.0 * 32 * std::pow(2.0, 32));
  EXPECT_LT(*roofline.attention_seconds(attention(1 << 16)), scores) << "64 Ki tokens: their scores are 256 GB";
}

TEST(FusedAttention, IsFasterForEachKeyOnLongerSequencesAndSlowerBackwards) {
  const Roofline roofline = with_kernel(0.5);
  double before = 0;
  for (base::Count keys = 512; keys <= 1 << 17; keys *= 2) {
    const double each =
        static_cast<double>(keys) * static_cast<double>(keys) / *roofline.attention_seconds(attention(keys));
    EXPECT_GT(each, before);
    before = each;
    Operator back = attention(keys);
    back.gradient = true;
    EXPECT_NEAR(*roofline.attention_seconds(back) / *roofline.attention_seconds(attention(keys)), 2.5 / 0.86, 1e-9);
  }
}

// A mask that hides all but `window` of the keys: its share of them is w/n - (w/n)^2 / 2.
TEST(FusedAttention, AWindowComputesTheBlocksThatItCutsAndItsShortLoopsAreSlower) {
  const Roofline roofline = with_kernel(0.5);
  const base::Count keys = 1 << 15;
  const auto windowed = [&](double window) {
    Operator one = attention(keys);
    const double part = window / static_cast<double>(keys);
    one.share = part - part * part / 2;
    return *roofline.attention_seconds(one);
  };
  const auto each = [&](double window) { return windowed(window) / window; };
  EXPECT_DOUBLE_EQ(windowed(1 << 15), *roofline.attention_seconds(attention(keys))) << "as long as the sequence";
  double before = 0;
  for (double window = 64; window <= keys; window += 64) {
    EXPECT_GE(windowed(window), before) << "a longer window is never faster";
    before = windowed(window);
  }
  EXPECT_GT(each(128), 2 * 2 * each(4096)) << "two blocks for one, and loops of 256 keys at half of the rate";
}

TEST(Roofline, APrecisionMayHaveAShareOfItsPeakOfItsOwnAndNeverMoreThanAll) {
  Accelerator chip = a100();
  chip.fill_depth = 0;
  const MatrixProduct product{1, 1 << 14, 1 << 14, 1 << 12, Precision::kBf16};
  const double before = Roofline(chip).matrix_product_seconds(product);
  chip.sustained[static_cast<std::size_t>(Precision::kBf16)] = 0.5;
  EXPECT_NEAR(Roofline(chip).matrix_product_seconds(product), 2 * before, 1e-9 * before);
  chip.sustained[static_cast<std::size_t>(Precision::kBf16)] = 2;
  EXPECT_EQ(chip.efficiency(Precision::kBf16), 1);
  EXPECT_EQ(chip.efficiency(Precision::kTf32), chip.matrix_efficiency);
}

TEST(FusedAttention, IsNotKnownAsOneOperatorWithoutAKernel) {
  Operator one = attention(1024);
  one.kernel = AttentionKernel::kNone;
  EXPECT_FALSE(with_kernel(0.5).attention_seconds(one));
  const Roofline roofline = with_kernel(0.5);
  EXPECT_EQ(MeasuredOperators({}, roofline).attention_seconds(attention(1024)),
            roofline.attention_seconds(attention(1024)));
}

RC_GTEST_PROP(MeasuredOperators, CorrectionsStayBetweenTheMeasuredOnesAndNone, ()) {
  const Roofline rest(a100());
  std::vector<MeasuredProduct> table;
  double least = 1, most = 1;
  for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
    const MatrixProduct p = any_product();
    const double factor = *rc::gen::inRange(5, 40) / 10.0;
    least = std::min(least, factor);
    most = std::max(most, factor);
    table.push_back({p, factor * rest.matrix_product_seconds(p)});
  }
  const MatrixProduct asked = any_product();
  const double ratio =
      MeasuredOperators(table, rest).matrix_product_seconds(asked) / rest.matrix_product_seconds(asked);
  RC_ASSERT(ratio >= least * (1 - 1e-9));
  RC_ASSERT(ratio <= most * (1 + 1e-9));
}

}  // namespace
}  // namespace orrery::machine
