// Norms and softmax against fp64, their gradients against finite differences of the fp64 functions.
#include "orrery/runtime/kernels/rows.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "orrery/runtime/kernels/dropout.h"
#include "orrery/runtime/kernels/level_test_util.h"

namespace orrery::kernels {
namespace {

using testing::Random;
using testing::Tensor;
using Row = std::vector<double>;

Row normalised(const Row& x, bool centred, double epsilon) {
  double mean = 0, square = 0;
  for (const double v : x) mean += v / static_cast<double>(x.size());
  if (!centred) mean = 0;
  for (const double v : x) square += (v - mean) * (v - mean) / static_cast<double>(x.size());
  Row y;
  for (const double v : x) y.push_back((v - mean) / std::sqrt(square + epsilon));
  return y;
}

Row softmaxed(const Row& x, double scale) {
  double top = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const double v : x) top = std::max(top, v * scale);
  Row y;
  for (const double v : x) y.push_back(std::exp(v * scale - top)), sum += y.back();
  for (double& v : y) v /= sum;
  return y;
}

// The gradient of sum_i weights_i f(x)_i by central differences.
Row difference(const Row& x, const Row& weights, const std::function<Row(const Row&)>& f) {
  const double step = 1e-5;
  Row gradient;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double value[2];
    for (const int side : {0, 1}) {
      Row moved = x;
      moved[i] += side == 0 ? -step : step;
      const Row y = f(moved);
      value[side] = 0;
      for (std::size_t j = 0; j < y.size(); ++j) value[side] += weights[j] * y[j];
    }
    gradient.push_back((value[1] - value[0]) / (2 * step));
  }
  return gradient;
}

Row row_of(const Tensor& t, Index begin, Index count) {
  Row row;
  for (Index i = 0; i < count; ++i) row.push_back(t[begin + i]);
  return row;
}

TEST(Norms, AndTheirGradientsAgreeWithFp64AndFiniteDifferences) {
  for (const auto& context : testing::contexts()) {
    for (std::uint32_t seed = 0; seed < 150; ++seed) {
      Random random(seed);
      const Type type = random.pick({Type::kF32, Type::kBf16});
      const Index rows = random.one_in(10) ? random(65, 200) : random(1, 5), columns = random.size(rows > 64 ? 9 : 70);
      const Index stride = columns + random(0, 7);
      const bool centred = random.one_in(2);
      const float epsilon = 1e-3F;
      Tensor x(type, rows * stride, random, 3), y(type, rows * stride, random), standard(type, rows * stride, random);
      Tensor scale(Type::kF32, columns, random), shift(Type::kF32, columns, random), inverse(Type::kF32, rows, random);
      const bool plain = random.one_in(3);
      Normalise n;
      n.in = x.data(), n.in_type = type, n.in_stride = stride;
      n.rows = rows, n.columns = columns, n.centred = centred, n.epsilon = epsilon;
      if (!plain) n.scale = scale.floats(), n.shift = shift.floats();
      n.out = y.data(), n.out_type = type, n.out_stride = stride;
      n.standard = standard.data(), n.standard_stride = stride, n.inverse = inverse.floats();
      normalise(*context, n);

      Tensor dy(type, rows * stride, random), dx(type, rows * stride, random), residual(type, rows * stride, random);
      Tensor dscale(Type::kF32, columns, random), dshift(Type::kF32, columns, random);
      NormaliseBack back;
      back.gradient = dy.data(), back.standard = standard.data(), back.inverse = inverse.floats(), back.type = type;
      back.gradient_stride = back.standard_stride = back.out_stride = back.residual_stride = stride;
      back.rows = rows, back.columns = columns, back.centred = centred, back.scale = n.scale;
      if (random.one_in(2)) back.residual = residual.data();
      back.out = dx.data();
      back.scale_gradient = dscale.floats(), back.shift_gradient = dshift.floats();
      normalise_back(*context, back);

      const double fine = type == Type::kBf16 ? 1.0 / 64 : 1e-5;
      Row exact_scale(columns, 0.0), exact_shift(columns, 0.0);
      for (Index i = 0; i < rows; ++i) {
        const Row in = row_of(x, i * stride, columns), out = normalised(in, centred, epsilon);
        Row weights;
        for (Index j = 0; j < columns; ++j) {
          const double s = plain ? 1 : scale[j], b = plain ? 0 : shift[j];
          ASSERT_NEAR(y[i * stride + j], out[j] * s + b, fine * (1 + std::fabs(out[j] * s) + std::fabs(b)))
              << "seed " << seed;
          weights.push_back(dy[i * stride + j] * s);
          exact_scale[j] += dy[i * stride + j] * out[j];
          exact_shift[j] += dy[i * stride + j];
        }
        const Row gradient = difference(in, weights, [&](const Row& r) { return normalised(r, centred, epsilon); });
        for (Index j = 0; j < columns; ++j) {
          const double plus = back.residual == nullptr ? 0 : residual[i * stride + j];
          const double wanted = gradient[j] + plus,
                       loose = (fine + 1e-6) * (2 + std::fabs(plus)) * (1 + inverse[i]) * 4;
          ASSERT_NEAR(dx[i * stride + j], wanted, loose) << "seed " << seed << " " << testing::name_of(*context);
        }
        for (Index j = columns; j < stride; ++j) ASSERT_FALSE(std::isnan(dx[i * stride + j]));
      }
      for (Index j = 0; j < columns; ++j) {
        ASSERT_NEAR(dscale[j], exact_scale[j], fine * 8 * std::sqrt(rows)) << "seed " << seed;
        ASSERT_NEAR(dshift[j], exact_shift[j], 1e-5 * std::sqrt(rows)) << "seed " << seed;
      }
    }
  }
}

TEST(Norms, OfRowsFarFromZeroKeepTheirDigits) {
  for (const auto& context : testing::contexts(1)) {
    std::vector<float> x(1024), y(1024);
    for (int i = 0; i < 1024; ++i) x[i] = 4096 + static_cast<float>(i % 2);
    Normalise n;
    n.in = x.data(), n.out = y.data(), n.rows = 1, n.columns = 1024, n.epsilon = 0;
    normalise(*context, n);
    for (int i = 0; i < 1024; ++i) ASSERT_NEAR(y[i], i % 2 == 0 ? -1 : 1, 1e-6);
  }
}

TEST(Norms, OfRowsWithANaNAreNaNAndLeaveOthersAlone) {
  for (const auto& context : testing::contexts(1)) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      std::vector<float> x(3 * 21, 1.0F), y(3 * 21);
      for (int i = 0; i < 63; i += 2) x[i] = 2;
      x[21 + 20] = bad;
      Normalise n;
      n.in = x.data(), n.in_stride = 21, n.out = y.data(), n.out_stride = 21, n.rows = 3, n.columns = 21;
      normalise(*context, n);
      for (int i = 0; i < 63; ++i) ASSERT_EQ(std::isnan(y[i]), i / 21 == 1) << i;
    }
  }
}

TEST(Softmax, AndItsGradientAgreeWithFp64AndFiniteDifferences) {
  for (const auto& context : testing::contexts()) {
    for (std::uint32_t seed = 0; seed < 100; ++seed) {
      Random random(seed);
      const Type type = random.pick({Type::kF32, Type::kBf16});
      const Index rows = random(1, 4), columns = random.size(70), stride = columns + random(0, 3);
      const float scale = random.pick({1.0F, 0.125F, 20.0F});
      Tensor x(type, rows * stride, random, 2), y(type, rows * stride, random), dy(type, rows * stride, random),
          dx(type, rows * stride, random);
      if (columns > 1 && random.one_in(2)) x.set(0, -std::numeric_limits<float>::infinity());
      Softmax s;
      s.in = x.data(), s.type = type, s.in_stride = s.out_stride = s.gradient_stride = stride;
      s.rows = rows, s.columns = columns, s.scale = scale, s.out = y.data();
      softmax(*context, s);
      Softmax back = s;
      back.in = y.data(), back.gradient = dy.data(), back.out = dx.data();
      softmax_back(*context, back);
      const double fine = type == Type::kBf16 ? 1.0 / 128 : 1e-5;
      for (Index i = 0; i < rows; ++i) {
        const Row in = row_of(x, i * stride, columns), out = softmaxed(in, scale),
                  weights = row_of(dy, i * stride, columns);
        const Row gradient = difference(in, weights, [&](const Row& r) { return softmaxed(r, scale); });
        for (Index j = 0; j < columns; ++j) {
          ASSERT_NEAR(y[i * stride + j], out[j], fine) << "seed " << seed;
          if (std::isinf(in[j])) continue;
          ASSERT_NEAR(dx[i * stride + j], gradient[j], fine * 6 * scale + 1e-6) << "seed " << seed;
        }
      }
    }
  }
}

TEST(Softmax, OfNothingButMinusInfinityAndOfInfinityIsNaN) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const auto& context : testing::contexts(1)) {
    std::vector<float> x(3 * 5, 1.0F), y(15);
    for (int i = 0; i < 5; ++i) x[i] = -infinity;
    x[5] = infinity;
    Softmax s;
    s.in = x.data(), s.out = y.data(), s.in_stride = s.out_stride = 5, s.rows = 3, s.columns = 5;
    softmax(*context, s);
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(std::isnan(y[i]));
    EXPECT_TRUE(std::isnan(y[5]));  // infinity minus infinity
    for (int i = 10; i < 15; ++i) EXPECT_FLOAT_EQ(y[i], 0.2F);
  }
}

// Rows longer than finish() takes at a time, parts of a matrix, and both types: dropout is by the place in the whole
// matrix.
TEST(Rows, OfAnyLengthAreDroppedByTheirPlaceInTheMatrix) {
  for (const auto& context : testing::contexts()) {
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
      Random random(seed);
      const Type type = random.pick({Type::kF32, Type::kBf16});
      const Index rows = random(1, 70), columns = random.one_in(2) ? random(1, 3000) : random.size(600),
                  stride = columns + 2;
      Tensor x(type, rows * stride, random), y(type, rows * stride, random), gate(Type::kF32, columns, random);
      const Tensor old = y;
      Finish f;
      f.in = x.data(), f.in_type = f.out_type = type, f.in_stride = f.out_stride = stride;
      f.rows = rows, f.columns = columns, f.out = y.data();
      f.first_row = random(0, 1000), f.first_column = 16 * random(0, 100);
      f.gate = gate.data();  // stride 0: the same for every row
      f.drop = drop_pattern(0.3, seed, 9);
      f.streamed = random.one_in(2);
      finish(*context, f);
      for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < columns; ++j) {
          const bool kept = keeps(f.drop, static_cast<std::uint64_t>(f.first_row + i),
                                  static_cast<std::uint64_t>(f.first_column + j));
          const double exact = kept ? x[i * stride + j] * gate[j] * f.drop.scale : 0;
          ASSERT_NEAR(y[i * stride + j], exact, std::fabs(exact) * 2 * testing::rounding_of(type))
              << "seed " << seed << " " << j;
        }
        for (Index j = columns; j < stride; ++j) ASSERT_EQ(y[i * stride + j], old[i * stride + j]);
      }
    }
  }
}

TEST(Rows, OfOperatorsAreTheSameForAnyNumberOfThreads) {
  const Index rows = 500, columns = 99;
  Random random(3);
  const Tensor x(Type::kF32, rows * columns, random), dy(Type::kF32, rows * columns, random);
  for (const Level level : levels()) {
    std::vector<std::vector<float>> scales, outs;
    for (const int threads : {1, 2, 4}) {
      Context context(threads, level);
      std::vector<float> inverse(rows, 1.5F), dx(rows * columns), ds(columns), db(columns);
      NormaliseBack back;
      back.gradient = dy.data(), back.standard = x.data(), back.inverse = inverse.data(), back.out = dx.data();
      back.gradient_stride = back.standard_stride = back.out_stride = columns;
      back.rows = rows, back.columns = columns, back.scale_gradient = ds.data(), back.shift_gradient = db.data();
      normalise_back(context, back);
      ds.insert(ds.end(), db.begin(), db.end());
      scales.push_back(ds);
      outs.push_back(dx);
    }
    for (const auto& one : scales) EXPECT_EQ(one, scales.front());
    for (const auto& one : outs) EXPECT_EQ(one, outs.front());
  }
}

// Pairs as complex numbers, times e^(i angle); and back again, the lengths unchanged.
TEST(Rotation, TurnsPairsByTheAngleOfTheirRow) {
  for (const auto& context : testing::contexts()) {
    for (std::uint32_t seed = 0; seed < 100; ++seed) {
      Random random(seed);
      const Type type = random.pick({Type::kF32, Type::kBf16});
      const Index heads = random(1, 3), turned = 2 * random.size(40), head = turned + random(0, 5), half = turned / 2;
      const Index rows = random.one_in(5) ? random(65, 140) : random(1, 9), stride = heads * head + random(0, 7);
      Tensor x(type, rows * stride, random), cosines(Type::kF32, 10 * half, random), sines = cosines;
      std::vector<Index> positions;
      for (Index i = 0; i < rows; ++i) positions.push_back(random(0, 9));
      for (Index i = 0; i < 10 * half; ++i) {
        cosines.set(i, static_cast<float>(std::cos(0.1 * static_cast<double>(i))));
        sines.set(i, static_cast<float>(std::sin(0.1 * static_cast<double>(i))));
      }
      const Tensor old = x;
      Rotate r;
      r.data = x.data(), r.type = type, r.rows = rows, r.row_stride = stride, r.heads = heads, r.head_stride = head;
      r.turned = turned, r.pairs = random.one_in(2), r.positions = positions.data();
      r.cosines = cosines.floats(), r.sines = sines.floats();
      rotate(*context, r);
      std::vector<bool> seen(rows * stride, false);
      const double fine = type == Type::kBf16 ? 1.0 / 64 : 1e-6;
      for (Index row = 0; row < rows; ++row) {
        for (Index h = 0; h < heads; ++h) {
          for (Index i = 0; i < half; ++i) {
            const Index at = row * stride + h * head;
            const Index a = at + (r.pairs ? 2 * i : i), b = at + (r.pairs ? 2 * i + 1 : i + half);
            const double angle = 0.1 * static_cast<double>(positions[row] * half + i);
            ASSERT_NEAR(x[a], old[a] * std::cos(angle) - old[b] * std::sin(angle), fine * 4) << seed;
            ASSERT_NEAR(x[b], old[b] * std::cos(angle) + old[a] * std::sin(angle), fine * 4) << seed;
            seen[a] = seen[b] = true;
          }
        }
      }
      for (Index i = 0; i < rows * stride; ++i) {
        ASSERT_TRUE(seen[i] || x[i] == old[i]) << seed;
      }
      r.back = true;
      rotate(*context, r);
      for (Index i = 0; i < rows * stride; ++i) ASSERT_NEAR(x[i], old[i], fine * 6) << seed;
    }
  }
}

}  // namespace
}  // namespace orrery::kernels
