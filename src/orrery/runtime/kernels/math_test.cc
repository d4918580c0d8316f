// exp and the activations at every 97th float, and at every float near the ends of exp's range: error against fp64.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "orrery/runtime/kernels/level_test_util.h"

namespace orrery::kernels {
namespace {

float float_of_of_math(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// Calls see(x, f(x)) for every `stride`-th float.
template <class Apply, class See>
void over_floats(std::uint32_t stride, Apply apply, See see) {
  constexpr Index kAtOnce = 4096;
  std::vector<float> in(kAtOnce), out(kAtOnce);
  for (std::uint64_t bits = 0; bits <= 0xffffffffU;) {
    Index count = 0;
    for (; count < kAtOnce && bits <= 0xffffffffU; bits += stride)
      in[count++] = float_of_of_math(static_cast<std::uint32_t>(bits));
    apply(in.data(), out.data(), count);
    for (Index i = 0; i < count; ++i) see(in[i], out[i]);
  }
}

// Every 97th, or ORRERY_FLOATS=1 for all of them.
std::uint32_t stride_of_floats(std::uint32_t usual) {
  const char* wanted = std::getenv("ORRERY_FLOATS");
  return wanted == nullptr ? usual : static_cast<std::uint32_t>(std::atoi(wanted));
}

// The distance of neighbouring floats at x, at least that of subnormal ones.
double unit_at(double x) {
  const int exponent = x == 0 ? -149 : std::max(std::ilogb(x) - 23, -149);
  return std::ldexp(1.0, exponent);
}

TEST(Exponential, IsWithinOneUnitInTheLastPlaceTwoWithoutFma) {
  for (const Level level : levels()) {
    const Table& table = *table_of(level);
    double worst = 0;
    float where = 0;
    over_floats(stride_of_floats(397), table.exponential, [&](float x, float y) {
      const double exact = std::exp(static_cast<double>(x));
      if (std::isnan(x)) {
        ASSERT_TRUE(std::isnan(y));
      } else if (exact >= std::ldexp(1.0, 128)) {
        ASSERT_EQ(y, std::numeric_limits<float>::infinity()) << x;
      } else {
        const double error = std::fabs(y - exact) / unit_at(exact);
        if (!(error <= worst)) worst = error, where = x;
      }
    });
    RecordProperty(std::string(name_of(level)), std::to_string(worst));
    EXPECT_LE(worst, level == Level::kPortable ? 2.0 : 1.0) << name_of(level) << " at " << where;
  }
}

TEST(Exponential, HasTheLimitsThatIeeeGivesIt) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Level level : levels()) {
    const float in[] = {0.0F, -0.0F, infinity, -infinity, 89.0F, -104.0F, 1e30F, -1e30F, std::nanf("")};
    float out[9];
    table_of(level)->exponential(in, out, 9);
    EXPECT_EQ(out[0], 1);
    EXPECT_EQ(out[1], 1);
    EXPECT_EQ(out[2], infinity);
    EXPECT_EQ(out[3], 0);
    EXPECT_EQ(out[4], infinity);
    EXPECT_EQ(out[5], 0);
    EXPECT_EQ(out[6], infinity);
    EXPECT_EQ(out[7], 0);
    EXPECT_TRUE(std::isnan(out[8]));
  }
}

double phi_below(double x) {
  return std::erfc(-x / std::sqrt(2.0)) / 2;
}
double density(double x) {
  return std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
}

// (1 + tanh(u)) / 2 = 1 / (1 + e^(-2 u)), which loses no digits where tanh is near -1.
double tanh_argument(double x) {
  return 2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
}

struct Reference {
  Activation activation;
  double (*exact)(double);
  double relative, absolute;  // bound of the error: the larger of both, relative to |f(x)|
};

TEST(Activations, AreWithinTheirStatedErrorForEveryFloat) {
  const Reference references[] = {
      {Activation::kGelu, [](double x) { return x * phi_below(x); }, 5e-7, 1e-37},
      {Activation::kGeluSlope, [](double x) { return phi_below(x) + x * density(x); }, 4e-7, 2.5e-7},
      {Activation::kSilu, [](double x) { return x / (1 + std::exp(-x)); }, 4e-7, 1e-37},
      {Activation::kSiluSlope,
       [](double x) {
         const double s = 1 / (1 + std::exp(-x));
         return s * (1 + x * (1 - s));
       },
       4e-7, 2.5e-7},
      {Activation::kGeluTanh, [](double x) { return x / (1 + std::exp(-tanh_argument(x))); }, 4e-7, 1e-7},
      {Activation::kGeluTanhSlope,
       [](double x) {
         const double s = 1 / (1 + std::exp(-tanh_argument(x)));
         const double rest = 1 / (1 + std::exp(tanh_argument(x)));
         const double rise = 2 * std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
         return s * (1 + (rest == 0 ? 0 : x * rest * rise));
       },
       4e-7, 5e-7},
      {Activation::kRelu, [](double x) { return x > 0 ? x : 0; }, 0, 0},
      {Activation::kReluSlope, [](double x) { return x > 0 ? 1.0 : 0.0; }, 0, 0},
  };
  for (const Level level : levels()) {
    for (const Reference& reference : references) {
      const auto apply = [&](const float* in, float* out, Index n) {
        table_of(level)->activation(reference.activation, in, out, n);
      };
      double worst = 0;
      float where = 0;
      over_floats(stride_of_floats(1499), apply, [&](float x, float y) {
        if (std::isnan(x)) {
          ASSERT_TRUE(std::isnan(y));
          return;
        }
        if (std::isinf(x)) return;  // the next test
        const double exact = reference.exact(x);
        // Without fused multiply-add the square's rounding error is not known, and the left tail is as exact as it.
        const double tail = level == Level::kPortable ? 1e-7 * std::min(200.0, static_cast<double>(x) * x) : 0;
        const double bound = std::max((reference.relative + tail) * std::fabs(exact), reference.absolute);
        const double error = bound == 0 ? (y == exact ? 0 : 2) : std::fabs(y - exact) / bound;
        if (!(error <= worst)) worst = error, where = x;
      });
      EXPECT_LE(worst, 1) << name_of(level) << " activation " << static_cast<int>(reference.activation) << " at "
                          << where;
    }
  }
}

TEST(Activations, OfInfinitiesAreWhatTheirFormulasGive) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Level level : levels()) {
    const float in[] = {infinity, -infinity};
    float out[2];
    for (const Activation which : {Activation::kRelu, Activation::kGelu, Activation::kSilu, Activation::kGeluTanh}) {
      table_of(level)->activation(which, in, out, 2);
      EXPECT_EQ(out[0], infinity);
      // The others compute -infinity times 0.
      EXPECT_TRUE(which == Activation::kRelu ? out[1] == 0 : std::isnan(out[1])) << static_cast<int>(which);
    }
  }
}

TEST(Bf16, RoundsToTheNearestWithTiesToEven) {
  Bf16 worst = 0;
  for (std::uint64_t bits = 0; bits <= 0xffffffffU; bits += 12289) {
    const float x = float_of_of_math(static_cast<std::uint32_t>(bits));
    const float y = from_bf16(to_bf16(x));
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(y));
      continue;
    }
    const Bf16 half = to_bf16(x);
    // No neighbour is nearer, and at equal distance the last bit is zero.
    for (const int step : {-1, 1}) {
      const float neighbour = from_bf16(static_cast<Bf16>(half + step));
      if (std::isnan(neighbour) || std::isinf(neighbour) || std::isinf(y) || (half & 0x7fffU) == 0) continue;
      const double here = std::fabs(static_cast<double>(x) - y), there = std::fabs(static_cast<double>(x) - neighbour);
      ASSERT_TRUE(here < there || (here == there && half % 2 == 0)) << x;
    }
    worst = std::max<Bf16>(worst, half);
  }
  EXPECT_GT(worst, 0xff00);  // the loop came to negative numbers
}

TEST(Half, IsReadAndWrittenWithoutAChange) {
  for (std::uint32_t bits = 0; bits <= 0xffffU; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const float x = from_half(half);
    const std::uint32_t exponent = bits >> 10 & 31U, fraction = bits & 1023U;
    const double sign = bits >> 15 != 0 ? -1 : 1;
    if (exponent == 31) {
      ASSERT_EQ(std::isnan(x), fraction != 0);
      ASSERT_EQ(std::isinf(x), fraction == 0);
    } else {
      const double wanted =
          exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
      ASSERT_EQ(x, sign * wanted) << bits;
    }
    if (!std::isnan(x)) {
      ASSERT_EQ(to_half(x).bits, bits);
    } else {
      ASSERT_TRUE(std::isnan(from_half(to_half(x))));
    }
  }
}

// Between two neighbours lies their middle, which goes to the even one; what lies beside it goes to the nearer.
TEST(Half, RoundsToTheNearestWithTiesToEven) {
  for (std::uint32_t bits = 0; bits < 0x7c00U; ++bits) {
    const float low = from_half({static_cast<std::uint16_t>(bits)});
    const float high = bits == 0x7bffU ? 65536.0F : from_half({static_cast<std::uint16_t>(bits + 1)});
    const float middle = (low + high) / 2;
    ASSERT_EQ(to_half(middle).bits, bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(to_half(std::nextafter(middle, 0.0F)).bits, bits);
    ASSERT_EQ(to_half(std::nextafter(middle, 1e6F)).bits, bits + 1);
    ASSERT_EQ(to_half(-middle).bits, to_half(middle).bits | 0x8000U);
  }
  EXPECT_EQ(to_half(1e30F).bits, 0x7c00U);
  EXPECT_EQ(to_half(1e-30F).bits, 0U);
}

TEST(Bf16, IsStoredByEveryLevelAsByTheDefinition) {
  for (const Level level : levels()) {
    std::vector<float> in;
    for (std::uint64_t bits = 0; bits <= 0xffffffffU; bits += 65521)
      in.push_back(float_of_of_math(static_cast<std::uint32_t>(bits)));
    for (std::uint32_t upper = 0; upper <= 0xffffU; upper += 7)
      in.push_back(float_of_of_math(upper << 16 | 0x8000U));  // ties
    std::vector<Bf16> out(in.size());
    Finish f;
    f.in = in.data(), f.rows = 1, f.columns = static_cast<Index>(in.size());
    f.out = out.data(), f.out_type = Type::kBf16;
    table_of(level)->finish(f);
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (std::isnan(in[i])) {
        ASSERT_TRUE(std::isnan(from_bf16(out[i])));
      } else {
        ASSERT_EQ(out[i], to_bf16(in[i])) << name_of(level) << " " << in[i];
      }
    }
  }
}

}  // namespace
}  // namespace orrery::kernels
