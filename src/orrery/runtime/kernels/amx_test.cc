// Tiles: what their instructions compute, here and, where the machine has them, in hardware; and fp32 by products of
// bf16.
#include <gtest/gtest.h>

#include <limits>

#include "orrery/base/diagnostics/check.h"
#include "orrery/runtime/kernels/compiled/kernel_tiles.h"
#include "orrery/runtime/kernels/level_test_util.h"
#include "orrery/runtime/kernels/product.h"

namespace orrery::kernels {
namespace {

using testing::Random;

constexpr int kSide = kTileUnits;
using Registers = std::vector<std::uint32_t>;  // of one tile

std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
float float_of(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

template <class Dot>
Registers product_of(const Registers& sums, const Registers& a, const Registers& b, Dot dot) {
  Tiles tiles;
  tiles.load<0>(sums.data(), kSide);
  tiles.load<1>(a.data(), kSide);
  tiles.load<2>(b.data(), kSide);
  dot(tiles);
  Registers result(kSide * kSide);
  tiles.store<0>(result.data(), kSide);
  return result;
}
Registers bf16_product(const Registers& sums, const Registers& a, const Registers& b) {
  return product_of(sums, a, b, [](Tiles& tiles) { tiles.dot_bf16<0, 1, 2>(); });
}

Registers pairs_of(float even, float odd) {
  return Registers(kSide * kSide, to_bf16(even) | std::uint32_t{to_bf16(odd)} << 16);
}

TEST(Tiles, SumBytesAsWholeNumbersThatWrapRound) {
  Random random(1);
  Registers sums(kSide * kSide), a(kSide * kSide), b(kSide * kSide);
  for (Registers* tile : {&sums, &a, &b}) {
    for (std::uint32_t& unit : *tile) unit = static_cast<std::uint32_t>(random(0, 0xffffffffLL));
  }
  const Registers of_signed = product_of(sums, a, b, [](Tiles& tiles) { tiles.dot_int8<0, 1, 2>(); });
  const Registers of_unsigned = product_of(sums, a, b, [](Tiles& tiles) { tiles.dot_uint8<0, 1, 2>(); });
  for (int row = 0; row < kSide; ++row) {
    for (int column = 0; column < kSide; ++column) {
      std::int64_t signed_sum = static_cast<std::int32_t>(sums[row * kSide + column]), unsigned_sum = signed_sum;
      for (int d = 0; d < 4 * kSide; ++d) {
        const std::uint32_t left = a[row * kSide + d / 4] >> 8 * (d % 4),
                            right = b[d / 4 * kSide + column] >> 8 * (d % 4);
        signed_sum += static_cast<std::int8_t>(left) * static_cast<std::int8_t>(right);
        unsigned_sum += static_cast<std::uint8_t>(left) * static_cast<std::int8_t>(right);
      }
      ASSERT_EQ(of_signed[row * kSide + column], static_cast<std::uint32_t>(signed_sum));
      ASSERT_EQ(of_unsigned[row * kSide + column], static_cast<std::uint32_t>(unsigned_sum));
    }
  }
}

TEST(Tiles, SumEvenAndOddElementsApartBeforeTheyMeet) {
  // Sixteen times 2^24 and then -2^24 in even places, 1 in odd ones: summed in one chain, the ones would be lost.
  Registers a = pairs_of(4096, 1);
  for (int row = 0; row < kSide; ++row) {
    for (int unit = kSide / 2; unit < kSide; ++unit)
      a[row * kSide + unit] = to_bf16(-4096) | std::uint32_t{to_bf16(1)} << 16;
  }
  Registers b = pairs_of(4096, 1);
  const Registers sums(kSide * kSide, bits_of(0.5F));
  for (const std::uint32_t sum : bf16_product(sums, a, b)) ASSERT_EQ(float_of(sum), 16.5F);
}

TEST(Tiles, TakeSubnormalNumbersForZerosAndMakeNone) {
  const float least = std::numeric_limits<float>::min(), subnormal = least / 2;
  const Registers zeros(kSide * kSide), big = pairs_of(0x1p100F, 0x1p100F);
  for (const std::uint32_t sum : bf16_product(zeros, pairs_of(subnormal, subnormal), big)) ASSERT_EQ(sum, 0U);
  for (const std::uint32_t sum : bf16_product(Registers(kSide * kSide, bits_of(subnormal)), zeros, big))
    ASSERT_EQ(sum, 0U);
  for (const std::uint32_t sum : bf16_product(zeros, pairs_of(0x1p-70F, 0), pairs_of(0x1p-70F, 0))) ASSERT_EQ(sum, 0U);
  for (const std::uint32_t sum : bf16_product(zeros, pairs_of(0x1p-63F, 0), pairs_of(0x1p-63F, 0))) {
    ASSERT_EQ(float_of(sum), 16 * least);
  }
}

TEST(Tiles, CarryInfinitiesAndNaNs) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Registers zeros(kSide * kSide);
  for (const std::uint32_t sum : bf16_product(zeros, pairs_of(infinity, 1), pairs_of(2, 1))) {
    ASSERT_EQ(float_of(sum), infinity);
  }
  for (const std::uint32_t sum : bf16_product(zeros, pairs_of(infinity, 1), pairs_of(0, 1))) {
    ASSERT_TRUE(std::isnan(float_of(sum)));
  }
}

struct Matrices {
  Index rows, columns, depth;
  std::vector<float> a, b;
};

Matrices normal_matrices(Index rows, Index columns, Index depth, std::uint32_t seed) {
  Random random(seed);
  Matrices m{rows, columns, depth, std::vector<float>(rows * depth), std::vector<float>(depth * columns)};
  for (std::vector<float>* matrix : {&m.a, &m.b}) {
    for (float& x : *matrix) x = random.normal();
  }
  return m;
}

std::vector<float> product_at(Level level, const Matrices& m, bool packed) {
  Context context(2, level);
  std::vector<float> c(m.rows * m.columns);
  Product x;
  x.rows = m.rows, x.columns = m.columns, x.depth = m.depth;
  x.a = {m.a.data(), Type::kF32, m.depth};
  x.b = {m.b.data(), Type::kF32, m.columns};
  x.c = {c.data(), Type::kF32, m.columns};
  PackedOperand b;
  if (packed) {
    b = pack(context, x.b, m.depth, m.columns, Precision::kF32);
    x.packed_b = &b;
  }
  multiply(context, x);
  return c;
}

double rms_error(const Matrices& m, const std::vector<float>& c) {
  double errors = 0, squares = 0;
  for (Index i = 0; i < m.rows; ++i) {
    for (Index j = 0; j < m.columns; ++j) {
      double sum = 0;
      for (Index d = 0; d < m.depth; ++d) sum += static_cast<double>(m.a[i * m.depth + d]) * m.b[d * m.columns + j];
      errors += std::pow(c[i * m.columns + j] - sum, 2);
      squares += sum * sum;
    }
  }
  return std::sqrt(errors / squares);
}

// Multiply-adds one after the other, as a product without blocks has them.
std::vector<float> chained(const Matrices& m) {
  std::vector<float> c(static_cast<std::size_t>(m.rows * m.columns));
  for (Index i = 0; i < m.rows; ++i)
    for (Index j = 0; j < m.columns; ++j) {
      float sum = 0;
      for (Index d = 0; d < m.depth; ++d) sum = std::fma(m.a[i * m.depth + d], m.b[d * m.columns + j], sum);
      c[i * m.columns + j] = sum;
    }
  return c;
}

TEST(FloatsByTiles, AreNearerToTheTruthThanAChainOfMultiplyAdds) {
  for (const Index depth : {33, 256, 1024, 2500}) {
    const Matrices m = normal_matrices(48, 40, depth, 7);
    const double by_tiles = rms_error(m, product_at(Level::kAmxEmulated, m, false));
    EXPECT_LT(by_tiles, rms_error(m, chained(m))) << depth;
    // Six roundings of the sum each 32 elements, of 0.3 units each, while it grows as a random walk; and the terms'
    // own.
    const double roundings = 6 * static_cast<double>((depth + 31) / 32);
    EXPECT_LT(by_tiles, 0.3 * 0x1p-23 * std::sqrt(roundings / 2) + 1e-7) << depth;
  }
}

TEST(FloatsByTiles, AreTakenForOrdinaryNumbers) {
  const Matrices m = normal_matrices(40, 50, 700, 3);
  const std::vector<float> by_tiles = product_at(Level::kAmxEmulated, m, false);
  EXPECT_NE(by_tiles, product_at(Level::kPortable, m, false));
  EXPECT_EQ(by_tiles, product_at(Level::kAmxEmulated, m, true));
}

// The emulated level and the portable one compute multiply-adds by the same code, to the last bit.
void expect_multiply_adds(const Matrices& m, const char* why) {
  const std::vector<float> wanted = product_at(Level::kPortable, m, false);
  for (const bool packed : {false, true}) {
    const std::vector<float> got = product_at(Level::kAmxEmulated, m, packed);
    EXPECT_EQ(std::memcmp(got.data(), wanted.data(), got.size() * sizeof(float)), 0)
        << why << (packed ? ", packed" : "");
  }
}

TEST(FloatsByTiles, GiveWayToMultiplyAddsWhereNumbersHaveNoNormalPlanes) {
  const float infinity = std::numeric_limits<float>::infinity(), most = std::numeric_limits<float>::max();
  for (const float odd : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN(), most, -most, 0x1.fffffep126F,
                          0x1p-149F, -0x1p-127F, 0x1p-126F, 0x1p-103F}) {
    for (const bool left : {true, false}) {
      Matrices m = normal_matrices(20, 37, 300, 5);
      (left ? m.a : m.b)[m.depth * 3 + 17] = odd;
      expect_multiply_adds(m, left ? "in A" : "in B");
    }
  }
}

TEST(FloatsByTiles, GiveWayToMultiplyAddsWhereSumsMayOverflowOrVanish) {
  for (const float scale : {0x1p62F, 0x1p-45F, 0x1p-70F}) {
    Matrices m = normal_matrices(20, 37, 300, 5);
    for (std::vector<float>* matrix : {&m.a, &m.b}) {
      for (float& x : *matrix) x *= scale;
    }
    expect_multiply_adds(m, "scaled");
  }
}

TEST(FloatsByTiles, ErrByWhatTheHeaderStatesAtTheEdgesOfWhatTheyTake) {
  for (const auto& [left, right] : {std::pair{0x1p-100F, 0x1p30F}, {0x1p-20F, 0x1p-30F}, {0x1p100F, 0x1p10F}}) {
    Matrices m = normal_matrices(33, 35, 100, 11);
    Random random(12);
    for (float& x : m.a) x = left * static_cast<float>(random(1 << 23, (1 << 24) - 1)) * 0x1p-23F;
    for (float& x : m.b)
      x = right * static_cast<float>(random(1 << 23, (1 << 24) - 1)) * (random.one_in(2) ? 0x1p-23F : -0x1p-23F);
    const std::vector<float> c = product_at(Level::kAmxEmulated, m, false);
    EXPECT_NE(c, product_at(Level::kPortable, m, false));
    for (Index i = 0; i < m.rows; ++i) {
      for (Index j = 0; j < m.columns; ++j) {
        double sum = 0, magnitude = 0;
        for (Index d = 0; d < m.depth; ++d) {
          const double term = static_cast<double>(m.a[i * m.depth + d]) * m.b[d * m.columns + j];
          sum += term, magnitude += std::fabs(term);
        }
        ASSERT_NEAR(c[i * m.columns + j], sum, 0x1p-21 * magnitude + 0x1p-123 * static_cast<double>(m.depth));
      }
    }
  }
}

TEST(FloatsByTiles, OfZerosAreZeros) {
  Matrices m = normal_matrices(5, 6, 7, 1);
  std::fill(m.a.begin(), m.a.end(), 0.0F);
  for (const float x : product_at(Level::kAmxEmulated, m, true)) EXPECT_EQ(x, 0.0F);
}

// The instructions themselves, where the machine has them.
TEST(Tiles, InHardwareComputeWhatTheEmulationDoes) {
  const std::vector<Level> all = levels();
  if (std::find(all.begin(), all.end(), Level::kAmx) == all.end()) GTEST_SKIP() << "this machine has no AMX";
  if (choice_at(Level::kAmx).fp32 != Arithmetic::kF32Tiles) GTEST_SKIP() << "multiply-adds are faster here";
  for (const Index depth : {1, 31, 64, 333, 1500}) {
    const Matrices m = normal_matrices(70, 50, depth, 21);
    EXPECT_EQ(product_at(Level::kAmx, m, false), product_at(Level::kAmxEmulated, m, false)) << depth;
  }
}

}  // namespace
}  // namespace orrery::kernels
