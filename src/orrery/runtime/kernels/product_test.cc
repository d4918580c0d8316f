#include "orrery/runtime/kernels/product.h"

#include <gtest/gtest.h>

#include <limits>

#include "orrery/base/diagnostics/check.h"
#include "orrery/runtime/kernels/dropout.h"
#include "orrery/runtime/kernels/level_test_util.h"

namespace orrery::kernels {
namespace {

using testing::near;
using testing::Random;
using testing::Tensor;

// An operand with random strides: rows or columns behind one another, or neither, gaps between them.
struct Stored {
  Tensor tensor;
  Operand operand;
  double at(Index item, Index i, Index j) const {
    return tensor[item * operand.batch_stride + i * operand.row_stride + j * operand.column_stride];
  }
};

Stored stored(Type type, Index batch, Index rows, Index columns, Random& random) {
  const Index gap = random(0, 5);
  Operand o;
  o.type = type;
  Index size = 0;
  switch (random(0, 4)) {
    case 0:
    case 1:
      o.row_stride = columns + gap, o.column_stride = 1, size = rows * (columns + gap);
      break;
    case 2:
    case 3:
      o.row_stride = 1, o.column_stride = rows + gap, size = columns * (rows + gap);
      break;
    default:
      o.row_stride = 2 * columns + gap, o.column_stride = 2, size = rows * (2 * columns + gap);
  }
  o.batch_stride = random.one_in(4) ? 0 : size + gap;
  Stored s{Tensor(type, (o.batch_stride == 0 ? 1 : batch) * (size + gap) + 1, random), o};
  s.operand.data = s.tensor.data();
  return s;
}

struct Beyond {
  Tensor tensor;
  Beside beside;
  double at(Index item, Index i, Index j) const {
    return tensor[item * beside.batch_stride + i * beside.row_stride + j];
  }
};

Beyond beside(Type type, Index batch, Index rows, Index columns, Random& random) {
  const Index stride = columns + random(0, 9), item = rows * stride + random(0, 9);
  Beyond b{Tensor(type, batch * item, random), {nullptr, type, stride, item}};
  b.beside.data = b.tensor.data();
  return b;
}

double activation(Activation which, double x) {
  const double phi = std::exp(-x * x / 2) / std::sqrt(2 * M_PI), below = std::erfc(-x / std::sqrt(2)) / 2;
  const double sigmoid = 1 / (1 + std::exp(-x)), scale = std::sqrt(2 / M_PI);
  const double tanh_part = (1 + std::tanh(scale * (x + 0.044715 * x * x * x))) / 2;
  switch (which) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return x > 0 ? x : 0;
    case Activation::kGelu:
      return x * below;
    case Activation::kSilu:
      return x * sigmoid;
    case Activation::kGeluTanh:
      return x * tanh_part;
    case Activation::kReluSlope:
      return x > 0 ? 1 : 0;
    case Activation::kGeluSlope:
      return below + x * phi;
    case Activation::kSiluSlope:
      return sigmoid * (1 + x * (1 - sigmoid));
    case Activation::kGeluTanhSlope:
      return tanh_part * (1 + 2 * x * (1 - tanh_part) * scale * (1 + 3 * 0.044715 * x * x));
  }
  return 0;
}

// One random product of every kind at one level: each element within the rounding errors that its sum allows, each byte
// that is no element unchanged.
void check_random_product(Context& context, std::uint32_t seed, Index most) {
  Random random(seed);
  Product x;
  x.rows = random.size(most);
  x.columns = random.size(most);
  x.depth = random.one_in(20) ? random.pick<Index>({0, 1100, 2049}) : random.size(2 * most);
  x.batch = random.one_in(3) ? random(1, 4) : 1;
  x.precision = random.pick({Precision::kF32, Precision::kBf16, Precision::kInt8, Precision::kUint8});
  const bool whole = x.precision == Precision::kInt8 || x.precision == Precision::kUint8;
  const auto source = [&] { return whole ? Type::kInt8 : random.pick({Type::kF32, Type::kBf16}); };
  Stored a = stored(x.precision == Precision::kUint8 ? Type::kUint8 : source(), x.batch, x.rows, x.depth, random);
  Stored b = stored(source(), x.batch, x.depth, x.columns, random);
  x.a = a.operand;
  x.b = b.operand;
  PackedOperand packed;
  if (x.b.batch_stride == 0 || x.batch == 1) {
    if (random.one_in(2)) {
      packed = pack(context, x.b, x.depth, x.columns, x.precision);
      x.packed_b = &packed;
      x.b.batch_stride = b.operand.batch_stride = 0;
    }
  }
  const bool bare = whole && random.one_in(2);
  const Type out = bare ? Type::kInt32 : random.pick({Type::kF32, Type::kBf16});
  const Type other = random.pick({Type::kF32, Type::kBf16});
  Beyond c = beside(out, x.batch, x.rows, x.columns, random), before = beside(out, x.batch, x.rows, x.columns, random);
  Beyond gate = beside(other, x.batch, x.rows, x.columns, random),
         slope = beside(other, x.batch, x.rows, x.columns, random);
  Beyond residual = beside(other, x.batch, x.rows, x.columns, random);
  Tensor bias(Type::kF32, x.columns, random), sums(Type::kF32, x.rows, random);
  x.c = c.beside;
  x.add = random.one_in(4);
  if (!bare) {
    x.alpha = random.one_in(2) ? 1.0F : 0.25F;
    if (random.one_in(2)) x.bias = bias.floats();
    x.activation = static_cast<Activation>(random(0, 8));
    if (x.activation >= Activation::kReluSlope) x.slope_at = slope.beside;
    if (random.one_in(3)) x.before = before.beside;
    if (random.one_in(3)) x.gate = gate.beside;
    if (random.one_in(2)) x.drop = drop_pattern(0.3, seed, 7);
    if (!x.add && random.one_in(2)) x.residual = residual.beside;
  }
  if (x.batch == 1 && !whole && random.one_in(3)) x.row_sums = sums.floats();
  const Tensor old = c.tensor;

  multiply(context, x);

  const auto rounded = [&](double v) {
    return x.precision == Precision::kBf16 ? from_bf16(to_bf16(static_cast<float>(v))) : v;
  };
  const double unit = std::ldexp(1.0, -24);
  std::vector<bool> written(c.tensor.bytes().size(), false);
  for (Index n = 0; n < x.batch; ++n) {
    for (Index i = 0; i < x.rows; ++i) {
      for (Index j = 0; j < x.columns; ++j) {
        double sum = 0, magnitude = 0;
        for (Index d = 0; d < x.depth; ++d) {
          const double term = rounded(a.at(n, i, d)) * rounded(b.at(n, d, j));
          sum += term;
          magnitude += std::fabs(term);
        }
        const Index place = n * c.beside.batch_stride + i * c.beside.row_stride + j;
        const double got = c.at(n, i, j);
        if (bare) {
          ASSERT_EQ(got, sum + (x.add ? old[place] : 0.0)) << "seed " << seed << " at " << i << ", " << j;
          continue;
        }
        // A sum of K rounded products is at most about K units off, relative to the sum of their magnitudes.
        double bound = unit * static_cast<double>(x.depth + 4) * magnitude * x.alpha;
        double v = sum * x.alpha;
        if (x.bias != nullptr) v += bias[j];
        bound += unit * 2 * std::fabs(v);
        if (x.before.data != nullptr) {
          ASSERT_TRUE(near(before.at(n, i, j), v, bound + std::fabs(v) * testing::rounding_of(out)))
              << "seed " << seed << " before " << before.at(n, i, j) << " for " << v;
        }
        if (x.slope_at.data != nullptr) {
          const double at = activation(x.activation, slope.at(n, i, j));
          bound = bound * std::fabs(at) + std::fabs(v) * 1e-6;
          v *= at;
        } else {
          v = activation(x.activation, v);
          bound = bound * 1.2 + 1e-6 * std::fabs(v);
        }
        const auto scaled = [&](double factor) {
          v *= factor;
          bound = bound * std::fabs(factor) + unit * std::fabs(v);
        };
        if (x.gate.data != nullptr) scaled(gate.at(n, i, j));
        if (x.drop.threshold != 0) {
          scaled(keeps(x.drop, static_cast<std::uint64_t>(n * x.rows + i), static_cast<std::uint64_t>(j)) ? x.drop.scale
                                                                                                          : 0.0);
        }
        const double plus = x.add ? old[place] : x.residual.data != nullptr ? residual.at(n, i, j) : 0.0;
        bound += unit * std::fabs(v + plus);
        v += plus;
        bound += std::fabs(v) * testing::rounding_of(out) * 1.01 + bound * 0.01;
        ASSERT_TRUE(near(got, v, bound)) << "seed " << seed << " level " << testing::name_of(context) << " sizes "
                                         << x.rows << " " << x.columns << " " << x.depth << " at " << i << ", " << j
                                         << ": " << got << " for " << v << ", bound " << bound;
      }
    }
  }
  for (Index n = 0; n < x.batch; ++n) {  // what lies between rows is as it was
    for (Index i = 0; i < x.rows; ++i) {
      for (Index j = x.columns; j < c.beside.row_stride; ++j) {
        const Index place = n * c.beside.batch_stride + i * c.beside.row_stride + j;
        ASSERT_EQ(c.tensor[place], old[place]) << "seed " << seed;
      }
    }
  }
  if (x.row_sums != nullptr) {
    for (Index i = 0; i < x.rows; ++i) {
      double sum = 0, magnitude = 0;
      for (Index d = 0; d < x.depth; ++d) sum += a.at(0, i, d), magnitude += std::fabs(a.at(0, i, d));
      ASSERT_TRUE(near(sums[i], sum, unit * static_cast<double>(x.depth + 2) * magnitude)) << "seed " << seed;
    }
  }
}

TEST(Products, ThousandsOfRandomOnesAreWithinTheirRoundingErrors) {
  for (const auto& context : testing::contexts()) {
    for (std::uint32_t seed = 0; seed < 1200; ++seed) {
      check_random_product(*context, seed, seed % 8 == 0 ? 140 : 40);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Products, OfSeveralBlocksOfRowsColumnsAndDepthAreWithinTheirRoundingErrors) {
  for (const auto& context : testing::contexts(3)) {
    for (std::uint32_t seed = 5000; seed < 5012; ++seed) {
      check_random_product(*context, seed, 600);
      if (HasFatalFailure()) return;
    }
  }
}

std::vector<float> random_floats(Index count, std::uint32_t seed) {
  Random random(seed);
  std::vector<float> x(count);
  for (float& one : x) one = random.normal();
  return x;
}

TEST(Products, AreTheSameToTheLastBitForAnyNumberOfThreads) {
  const Index rows = 263, columns = 777, depth = 1300;
  const std::vector<float> a = random_floats(rows * depth, 1), b = random_floats(depth * columns, 2);
  for (const Level level : levels()) {
    for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
      std::vector<std::vector<float>> results;
      for (const int threads : {1, 2, 3, 5}) {
        Context context(threads, level);
        std::vector<float> c(rows * columns);
        Product x;
        x.rows = rows, x.columns = columns, x.depth = depth, x.precision = precision;
        x.a = {a.data(), Type::kF32, depth};
        x.b = {b.data(), Type::kF32, columns};
        x.c = {c.data(), Type::kF32, columns};
        x.drop = drop_pattern(0.1, 3, 4);
        multiply(context, x);
        results.push_back(std::move(c));
      }
      for (const auto& result : results) EXPECT_EQ(result, results.front()) << name_of(level);
    }
  }
}

TEST(Products, CarryInfinitiesAndNaNsToTheirRowsAndColumnsOnly) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Index rows = 19, columns = 37, depth = 45;
  for (const auto& context : testing::contexts()) {
    for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
      std::vector<float> a(rows * depth, 1.0F), b(depth * columns, 1.0F), c(rows * columns);
      a[3 * depth + 44] = infinity;
      a[4 * depth + 0] = nan;
      a[5 * depth + 7] = infinity, a[5 * depth + 8] = -infinity;
      b[2 * columns + 36] = -infinity;
      b[44 * columns + 11] = 0;  // infinity times 0
      Product x;
      x.rows = rows, x.columns = columns, x.depth = depth, x.precision = precision;
      x.a = {a.data(), Type::kF32, depth};
      x.b = {b.data(), Type::kF32, columns};
      x.c = {c.data(), Type::kF32, columns};
      multiply(*context, x);
      for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < columns; ++j) {
          double sum = 0;
          for (Index d = 0; d < depth; ++d) sum += static_cast<double>(a[i * depth + d]) * b[d * columns + j];
          EXPECT_TRUE(near(c[i * columns + j], sum, 0)) << testing::name_of(*context) << " " << i << " " << j;
        }
      }
    }
  }
}

TEST(Products, WithNormalisedRowsEqualTheProductFollowedByTheNormalisation) {
  const Index rows = 130, columns = 333, depth = 700;
  const std::vector<float> a = random_floats(rows * depth, 1), b = random_floats(depth * columns, 2),
                           residual = random_floats(rows * columns, 3), scale = random_floats(columns, 4),
                           shift = random_floats(columns, 5);
  for (const auto& context : testing::contexts()) {
    for (const bool centred : {true, false}) {
      std::vector<float> c(rows * columns), out(rows * columns), standard(rows * columns), inverse(rows);
      Product x;
      x.rows = rows, x.columns = columns, x.depth = depth;
      x.a = {a.data(), Type::kF32, depth};
      x.b = {b.data(), Type::kF32, columns};
      x.c = {c.data(), Type::kF32, columns};
      x.bias = shift.data();
      x.residual = {const_cast<float*>(residual.data()), Type::kF32, columns};
      x.normalise = {centred,         1e-5F,         scale.data(), shift.data(), {out.data(), Type::kF32, columns},
                     standard.data(), inverse.data()};
      multiply(*context, x);
      for (Index i = 0; i < rows; ++i) {
        double mean = 0, variance = 0;
        for (Index j = 0; j < columns; ++j) mean += c[i * columns + j] / static_cast<double>(columns);
        if (!centred) mean = 0;
        for (Index j = 0; j < columns; ++j)
          variance += std::pow(c[i * columns + j] - mean, 2) / static_cast<double>(columns);
        const double r = 1 / std::sqrt(variance + 1e-5);
        ASSERT_NEAR(inverse[i], r, 1e-6 * r);
        for (Index j = 0; j < columns; ++j) {
          const double s = (c[i * columns + j] - mean) * r;
          ASSERT_NEAR(standard[i * columns + j], s, 2e-6);
          ASSERT_NEAR(out[i * columns + j], s * scale[j] + shift[j], 5e-6);
        }
      }
    }
  }
}

TEST(Products, OfSizesBeyondAddressesAreRefusedBeforeTheyAreComputed) {
  Context context(1);
  float one = 1;
  Product x;
  x.rows = x.columns = x.depth = 1;
  x.a = x.b = {&one, Type::kF32, 1};
  x.c = {&one, Type::kF32, 1};
  EXPECT_EQ(fault_of(x), "");
  EXPECT_GT(scratch_bytes(context, x), 0);
  const Index huge = Index{1} << 31, most = std::numeric_limits<Index>::max();
  for (Index Product::*size : {&Product::rows, &Product::columns, &Product::depth, &Product::batch}) {
    Product y = x;
    y.*size = -1;
    EXPECT_NE(fault_of(y), "");
    y.*size = most;
    EXPECT_NE(fault_of(y), "");
    EXPECT_THROW(multiply(context, y), base::InternalError);
  }
  Product square = x;
  square.rows = square.columns = huge;  // 2^62 elements
  EXPECT_NE(fault_of(square), "");
  Product far = x;
  far.rows = 3;
  far.a.row_stride = most / 2;
  EXPECT_NE(fault_of(far), "");
  far.a.row_stride = -most / 2;
  EXPECT_NE(fault_of(far), "");
}

TEST(Products, ThatContradictThemselvesAreRefused) {
  Context context(1);
  float one = 1;
  Product x;
  x.rows = x.columns = x.depth = 1;
  x.a = x.b = {&one, Type::kF32, 1};
  x.c = {&one, Type::kF32, 1};
  Product without_result = x;
  without_result.c.data = nullptr;
  EXPECT_THROW(multiply(context, without_result), base::InternalError);
  Product mixed = x;
  mixed.precision = Precision::kInt8;
  EXPECT_THROW(multiply(context, mixed), base::InternalError);
  Product slope = x;
  slope.activation = Activation::kGeluSlope;
  EXPECT_THROW(multiply(context, slope), base::InternalError);
  const PackedOperand packed = pack(context, x.b, 1, 1, Precision::kF32);
  Product other_size = x;
  other_size.depth = 2;
  other_size.packed_b = &packed;
  EXPECT_THROW(multiply(context, other_size), base::InternalError);
}

}  // namespace
}  // namespace orrery::kernels
