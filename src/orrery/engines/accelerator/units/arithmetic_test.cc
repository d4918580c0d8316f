// The arithmetic that both engines share, against the formulas of docs/model/sparse_array.md in exact fractions.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "orrery/engines/accelerator/tile_arithmetic.h"

namespace orrery::accelerator {
namespace {

using Wide = __int128;

// floor(a / 2^shift + half), halves up, where `half`.
Wide shifted(Wide a, int shift, bool half) {
  const Wide unit = Wide{1} << shift, doubled = 2 * a + (half ? unit : 0);
  Wide quotient = doubled / (2 * unit);
  if (quotient * 2 * unit > doubled) --quotient;
  return quotient;
}

class ArithmeticTest : public ::testing::Test {
 protected:
  Count whole(Count least, Count most) { return std::uniform_int_distribution<Count>(least, most)(random_); }
  std::mt19937_64 random_{3};
};

TEST_F(ArithmeticTest, OfTheMergerRoundsToNearestHalvesUp) {
  const MergerArithmetic merger{Instance()};
  const SignedExpUnit e({32, 16}, {});
  for (int trial = 0; trial < 20000; ++trial) {
    const std::int64_t merged = trial % 5 == 0 ? merger.least() : whole(-(1 << 20), 1 << 20),
                       block = whole(-(1 << 20), 1 << 20);
    const MergerArithmetic::Weights w = merger.weights(merged, block);
    EXPECT_EQ(w.most, std::max(merged, block));
    EXPECT_EQ(w.old, e(merged - w.most));
    EXPECT_EQ(w.fresh, e(block - w.most));
    EXPECT_TRUE(w.old == 65536 || w.fresh == 65536);
    const std::int64_t o = whole(-(Count{1} << 38), Count{1} << 38), x = whole(-(Count{1} << 30), Count{1} << 30);
    EXPECT_EQ(merger.merged(w, o, x),
              static_cast<std::int64_t>(shifted(Wide{w.old} * o + Wide{w.fresh} * x, 16, true)));
    const std::int64_t sum = whole(65536, Count{1} << whole(17, 30));
    const std::int64_t r = merger.reciprocal(sum);
    EXPECT_TRUE(Wide{r} * sum <= (Wide{1} << 40) && Wide{r + 1} * sum > (Wide{1} << 40));
    const std::int64_t element = whole(-32 * sum, 32 * sum);
    Count saturated = 0;
    const auto exact = static_cast<std::int64_t>(shifted(Wide{element} * r, 30, true));
    EXPECT_EQ(merger.normalised(element, r, saturated), std::clamp<std::int64_t>(exact, -32768, 32767));
    EXPECT_EQ(saturated, exact > 32767 || exact < -32768 ? 1 : 0);
  }
  EXPECT_EQ(merger.reciprocal(0), 0);
}

TEST_F(ArithmeticTest, OfTheQuantiserRoundsHalvesAwayFromZero) {
  Instance instance;
  Sizes sizes;
  sizes.queries = sizes.keys = 64, sizes.depth = 64, sizes.scale = 0.125, sizes.predicts = true;
  for (int trial = 0; trial < 20000; ++trial) {
    instance.code_bits = static_cast<int>(2 * whole(1, 4));
    base::Diagnostics found;
    const double clip = static_cast<double>(whole(100, 900)) / 1000;
    const QuantiserConstants c = prediction_constants(instance, sizes, true, clip, clip, 0.01, found).query;
    EXPECT_NEAR(std::ldexp(static_cast<double>(c.reciprocal), -c.shift), c.most / clip, c.most / clip * 0x1p-16);
    const auto squares = static_cast<std::uint64_t>(whole(1, Count{1} << whole(1, 36)));
    const RowScale row = row_scale(c, squares);
    const std::uint64_t norm = square_root(squares << 8U);
    int zeros = 0;
    while ((norm << (zeros + 1)) < (1U << 23U)) ++zeros;
    EXPECT_EQ(row.quotient, (c.reciprocal << 22U) / (norm << zeros));
    EXPECT_EQ(row.shift, c.shift + 23 - 5 - zeros);
    EXPECT_EQ(row.factor,
              static_cast<std::uint64_t>(std::min<Wide>(shifted(Wide{norm} * c.factor, c.factor_shift, true), 65535)));
    const std::int64_t x = whole(-32768, 32767);
    Count clipped = 0;
    const auto size = static_cast<std::int64_t>(shifted(Wide{std::abs(x)} * row.quotient, row.shift, true));
    const std::int64_t code = std::min<std::int64_t>(size, c.most);
    EXPECT_EQ(code_of(c, row, x, clipped), x < 0 ? -code : code);
    EXPECT_EQ(clipped, size > c.most ? 1 : 0);
  }
}

TEST_F(ArithmeticTest, OfThePredictorRescalesWithOneRoundingAndKeepsTheLargest) {
  Instance instance;
  Sizes sizes;
  sizes.queries = sizes.keys = 64, sizes.depth = 64, sizes.scale = 0.125, sizes.predicts = true;
  base::Diagnostics found;
  const PredictionConstants c = prediction_constants(instance, sizes, true, 0.5, 0.5, 0.01, found);
  const ScoreUnit unit(instance, c);
  const SignedExpUnit e({32, 16}, {});
  const Log2Unit log2(16);
  for (int trial = 0; trial < 5000; ++trial) {
    const std::int64_t s = whole(-3136, 3136);
    const auto query = static_cast<std::uint64_t>(whole(0, 65535)), key = static_cast<std::uint64_t>(whole(0, 65535));
    Count saturated = 0;
    const auto exact = static_cast<std::int64_t>(shifted(Wide{s} * query * key, c.score_shift, true));
    EXPECT_EQ(unit.rescaled(s, query, key, saturated), std::clamp<std::int64_t>(exact, -32768, 32767));
    EXPECT_EQ(saturated, exact > 32767 || exact < -32768 ? 1 : 0);
    ScoreUnit::Row row = unit.cleared();
    std::int64_t most = -32768, sum = 0;
    for (Count i = whole(0, 12); i > 0; --i) {
      const std::int64_t z = whole(-8000, 8000);
      unit.add(row, z);
      sum = z > most ? static_cast<std::int64_t>(shifted(Wide{sum} * e((most - z) * 64), 16, false)) + 65536
                     : sum + e((z - most) * 64);
      most = std::max(most, z);
    }
    EXPECT_EQ(row.most, most);
    EXPECT_EQ(row.sum, sum);
    const Wide log = Wide{log2(static_cast<std::uint64_t>(sum))} + c.threshold;
    EXPECT_EQ(unit.threshold(row),
              std::min(most + static_cast<std::int64_t>(shifted(log * 45426, 22, false)), most - 1));
  }
  // The signed product, of that of offset codes.
  for (int trial = 0; trial < 2000; ++trial) {
    const int bits = static_cast<int>(2 * whole(1, 4));
    const std::int64_t offset = Count{1} << (bits - 1), depth = whole(1, 80);
    std::int64_t exact = 0, sum = 0, row = 0, column = 0;
    for (Count i = 0; i < depth; ++i) {
      const std::int64_t a = whole(1 - offset, offset - 1), b = whole(1 - offset, offset - 1);
      exact += a * b, sum += (a + offset) * (b + offset), row += a + offset, column += b + offset;
    }
    EXPECT_EQ(signed_sum(sum, row, column, depth, bits), exact);
  }
}

TEST_F(ArithmeticTest, OfInputsRoundsHalvesToEvenAndSaturates) {
  const float from[] = {0.5F, 1.5F, 2.5F, -0.5F, -1.5F, 0.4999F, 200.0F, -200.0F, 127.0F, -128.0F, 127.4F, 127.5F};
  std::int32_t into[std::size(from)];
  EXPECT_EQ(fixed_numbers({8, 0}, from, std::size(from), into), 3) << "127.5 is rounded to 128";
  const std::int32_t exact[] = {0, 2, 2, 0, -2, 0, 127, -128, 127, -128, 127, 127};
  for (std::size_t i = 0; i < std::size(from); ++i) EXPECT_EQ(into[i], exact[i]) << from[i];
  Instance instance;
  for (const double scale : {1.0, 0.125, 0.0883883, 0.3}) {
    const std::int64_t m = query_multiplier(instance, scale);
    EXPECT_LE(m, 1 << 15);
    for (int trial = 0; trial < 2000; ++trial) {
      const auto x = static_cast<std::int32_t>(whole(-32768, 32767));
      EXPECT_EQ(scaled_query(m, x), static_cast<std::int32_t>(shifted(Wide{x} * m, 15, true)));
      EXPECT_NEAR(std::ldexp(scaled_query(m, x), -scaled_point(instance, scale)), std::ldexp(x, -10) * scale, 0x1p-11);
    }
  }
}

// A PE row's sums: each product floored, as the published PE does.
TEST_F(ArithmeticTest, OfAPeRowFloorsEachProductAfterAlignment) {
  for (int trial = 0; trial < 3000; ++trial) {
    Instance instance;
    instance.numbers.key = {16, static_cast<int>(whole(8, 12))},
    instance.numbers.value = {16, static_cast<int>(whole(8, 12))};
    if (trial % 3 == 0) instance.numbers.key.bits = 18;  // products of more than 32 bits
    const Count depth = whole(1, 20), count = whole(1, 5);
    const double scale = 1 / std::sqrt(static_cast<double>(whole(1, 100)));
    std::vector<std::int32_t> query(static_cast<std::size_t>(depth)), keys(static_cast<std::size_t>(8 * depth)),
        values = keys, of;
    for (auto& x : query) x = static_cast<std::int32_t>(whole(-8192, 8191));
    for (auto& x : keys) x = static_cast<std::int32_t>(whole(-8192, 8191));
    for (auto& x : values) x = static_cast<std::int32_t>(whole(-32768, 32767));
    for (Count j = 0; j < count; ++j) of.push_back(static_cast<std::int32_t>(whole(0, 7)));
    std::vector<std::int64_t> elements(static_cast<std::size_t>(depth));
    RowArithmetic row(instance, scale, depth);
    const RowArithmetic::Result result =
        row.run(query.data(), keys.data(), values.data(), of.data(), count, elements.data());
    const FixedPoint sums{32, 16};
    const int query_up = 16 - scaled_point(instance, scale), key_up = 16 - instance.numbers.key.point;
    std::vector<std::int64_t> scores;
    for (const std::int32_t k : of) {
      std::int64_t score = 0;
      for (Count i = 0; i < depth; ++i)
        score =
            sums.wrapped(score + sums.product(std::int64_t{query[static_cast<std::size_t>(i)]} << query_up,
                                              std::int64_t{keys[static_cast<std::size_t>(k * depth + i)]} << key_up));
      scores.push_back(score);
    }
    EXPECT_EQ(result.most, *std::max_element(scores.begin(), scores.end()));
    const SignedExpUnit e(sums, {});
    std::int64_t sum = 0;
    std::vector<std::int64_t> exact(elements.size());
    for (std::size_t j = 0; j < scores.size(); ++j) {
      const std::int64_t weight = e(scores[j] - result.most);
      sum += weight;
      for (std::size_t i = 0; i < exact.size(); ++i)
        exact[i] += sums.product(weight, std::int64_t{values[static_cast<std::size_t>(of[j]) * exact.size() + i]}
                                             << (16 - instance.numbers.value.point));
    }
    EXPECT_EQ(result.sum, sum);
    EXPECT_EQ(elements, exact);
  }
}

}  // namespace
}  // namespace orrery::accelerator
