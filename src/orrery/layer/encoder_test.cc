// The layer against the same equations in fp64, dropout included; its gradients against finite differences of these.
#include "orrery/layer/encoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "orrery/base/check.h"
#include "orrery/kernels/dropout.h"
#include "orrery/kernels/level_test_util.h"

namespace orrery::layer {
namespace {

using kernels::Activation;
using kernels::DropPattern;
using kernels::Type;
using kernels::testing::Random;
using kernels::testing::Tensor;
using Matrix = std::vector<double>;

// Everything that determines y.
struct Setting {
  Shape shape;
  Weights weights;
  Dropout dropout;
  std::uint64_t seed = 0;
  std::vector<Index> lengths;
  Matrix x;
};

Matrix linear(const Matrix& x, const std::vector<float>& w, const std::vector<float>& bias) {
  const Index outputs = static_cast<Index>(bias.size()), inputs = static_cast<Index>(w.size()) / outputs;
  const Index rows = static_cast<Index>(x.size()) / inputs;
  Matrix y(rows * outputs);
  for (Index r = 0; r < rows; ++r) {
    for (Index o = 0; o < outputs; ++o) {
      double sum = bias[o];
      for (Index i = 0; i < inputs; ++i) sum += x[r * inputs + i] * w[o * inputs + i];
      y[r * outputs + o] = sum;
    }
  }
  return y;
}

// Whether token t is one of a sequence rather than padding.
bool valid(const Setting& s, Index token) {
  return s.lengths.empty() || token % s.shape.length < s.lengths[token / s.shape.length];
}

// A token's row in the pattern is its number among those that are no padding.
void drop(const Setting& s, Matrix& x, Index columns, double probability, std::uint32_t stream) {
  const DropPattern pattern = kernels::drop_pattern(probability, s.seed, stream);
  std::uint64_t row = 0;
  for (Index t = 0; t < static_cast<Index>(x.size()) / columns; ++t) {
    if (!valid(s, t)) continue;
    for (Index i = 0; i < columns; ++i)
      x[t * columns + i] *= kernels::keeps(pattern, row, static_cast<std::uint64_t>(i)) ? pattern.scale : 0.0;
    ++row;
  }
}

Matrix norm(const Matrix& x, const std::vector<float>& scale, const std::vector<float>& shift, const Shape& shape) {
  const std::size_t columns = scale.size();
  Matrix y(x.size());
  for (std::size_t r = 0; r < x.size(); r += columns) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < columns && shape.centred; ++i) mean += x[r + i] / static_cast<double>(columns);
    for (std::size_t i = 0; i < columns; ++i) variance += std::pow(x[r + i] - mean, 2) / static_cast<double>(columns);
    for (std::size_t i = 0; i < columns; ++i)
      y[r + i] = (x[r + i] - mean) / std::sqrt(variance + shape.epsilon) * scale[i] + shift[i];
  }
  return y;
}

double activated(Activation which, double x) {
  if (which == Activation::kRelu) return x > 0 ? x : 0;
  if (which == Activation::kGelu) return x * std::erfc(-x / std::sqrt(2.0)) / 2;
  return x / (1 + std::exp(-x));
}

Matrix attention(const Setting& s, const Matrix& qkv) {
  const Index b = s.shape.batch, l = s.shape.length, w = s.shape.width, size = w / s.shape.heads;
  const DropPattern pattern = kernels::drop_pattern(s.dropout.attention, s.seed, 0);
  Matrix out(b * l * w);
  for (Index n = 0; n < b; ++n) {
    const Index valid = s.lengths.empty() ? l : s.lengths[n];
    for (Index h = 0; h < s.shape.heads; ++h) {
      for (Index j = 0; j < valid; ++j) {
        const double* q = &qkv[(n * l + j) * 3 * w + h * size];
        Matrix p;
        double sum = 0;
        for (Index k = 0; k < (s.shape.causal ? std::min(valid, j + 1) : valid); ++k) {
          double score = 0;
          for (Index i = 0; i < size; ++i) score += q[i] * qkv[(n * l + k) * 3 * w + w + h * size + i];
          p.push_back(std::exp(score / std::sqrt(static_cast<double>(size))));
          sum += p.back();
        }
        for (Index k = 0; k < static_cast<Index>(p.size()); ++k) {
          const auto row = static_cast<std::uint64_t>((n * s.shape.heads + h) * l + j);
          const double factor = kernels::keeps(pattern, row, static_cast<std::uint64_t>(k)) ? pattern.scale : 0.0;
          for (Index i = 0; i < size; ++i) {
            out[(n * l + j) * w + h * size + i] +=
                p[k] / sum * factor * qkv[(n * l + k) * 3 * w + 2 * w + h * size + i];
          }
        }
      }
    }
  }
  return out;
}

Matrix reference(const Setting& s) {
  const Weights& w = s.weights;
  const bool pre = s.shape.norms == Place::kPre;
  Matrix r = linear(attention(s, linear(pre ? norm(s.x, w.scale1, w.shift1, s.shape) : s.x, w.qkv, w.qkv_bias)), w.out,
                    w.out_bias);
  drop(s, r, s.shape.width, s.dropout.first, 1);
  for (std::size_t i = 0; i < r.size(); ++i) r[i] += s.x[i];
  const Matrix normed = pre ? norm(r, w.scale2, w.shift2, s.shape) : norm(r, w.scale1, w.shift1, s.shape);
  Matrix hidden = linear(normed, w.up, w.up_bias);
  const Matrix gate = s.shape.gated ? linear(normed, w.gate, w.gate_bias) : Matrix(hidden.size(), 0.0);
  for (std::size_t i = 0; i < hidden.size(); ++i) {
    const double f = activated(s.shape.activation, s.shape.gated ? gate[i] : hidden[i]);
    hidden[i] = s.shape.gated ? f * hidden[i] : f;
  }
  drop(s, hidden, s.shape.hidden, s.dropout.hidden, 2);
  Matrix y = linear(hidden, w.down, w.down_bias);
  drop(s, y, s.shape.width, s.dropout.second, 3);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += pre ? r[i] : normed[i];
  return pre ? y : norm(y, w.scale2, w.shift2, s.shape);
}

Setting random_setting(Random& random, Type type, Index most) {
  Shape shape;
  shape.batch = random(1, 3), shape.length = random.size(most);
  shape.heads = random(1, 3), shape.width = shape.heads * random(1, 9),
  shape.hidden = random.one_in(25) ? random(1025, 1400) : random.size(40);
  shape.activation = random.pick({Activation::kRelu, Activation::kGelu, Activation::kSilu});
  shape.norms = random.pick({Place::kPost, Place::kPre});
  shape.gated = random.one_in(3), shape.centred = !random.one_in(3);
  shape.type = type, shape.causal = random.one_in(3), shape.epsilon = 1e-2F;
  Setting s{shape, Weights(shape), {}, 77, {}, {}};
  for (std::vector<float>* part : s.weights.all()) {
    for (float& v : *part) v += 0.4F * random.normal();
  }
  if (random.one_in(2)) s.dropout = {0.1, 0.2, 0.3, 0.15};
  if (random.one_in(2)) {
    for (Index n = 0; n < shape.batch; ++n) s.lengths.push_back(random(1, shape.length));
  }
  return s;
}

Tensor random_rows(Setting& s, Random& random) {
  const Index count = s.shape.batch * s.shape.length * s.shape.width;
  Tensor x(s.shape.type, count, random);
  for (Index i = 0; i < count; ++i) s.x.push_back(x[i]);
  return x;
}

TEST(Encoder, AgreesWithFp64WhateverItsShape) {
  for (const auto& context : kernels::testing::contexts()) {
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
      Random random(seed);
      const Type type = random.pick({Type::kF32, Type::kBf16});
      Setting s = random_setting(random, type, 40);
      const Tensor x = random_rows(s, random);
      Tensor y(type, static_cast<Index>(s.x.size()), random), inferred = y;
      const Index* lengths = s.lengths.empty() ? nullptr : s.lengths.data();
      Encoder layer(*context, s.shape, s.weights, true), plain(*context, s.shape, s.weights, false);
      layer.forward(x.data(), y.data(), s.dropout, s.seed, lengths);
      plain.infer(x.data(), inferred.data(), lengths);
      const Matrix exact = reference(s);
      s.dropout = {};
      const Matrix exact_inferred = reference(s);
      double largest = 1, squares = 0, elements = 0;
      for (const double v : exact) largest = std::max(largest, std::fabs(v));
      for (Index i = 0; i < static_cast<Index>(exact.size()); ++i) {
        if (!valid(s, i / s.shape.width)) continue;
        squares += std::pow(y[i] - exact[i], 2) + std::pow(inferred[i] - exact_inferred[i], 2);
        elements += 2;
        if (type == Type::kBf16) continue;  // a norm of a few numbers close together enlarges single errors
        ASSERT_NEAR(y[i], exact[i], 3e-5 * largest) << "seed " << seed << " " << kernels::testing::name_of(*context);
        ASSERT_NEAR(inferred[i], exact_inferred[i], 3e-5 * largest) << "seed " << seed;
      }
      ASSERT_LE(std::sqrt(squares / elements), (type == Type::kF32 ? 1e-5 : 2.5e-2) * largest)
          << "seed " << seed << " " << kernels::testing::name_of(*context);
    }
  }
}

// Of sum(y dy) over tokens that are no padding: the same sums in fp64, moved by a small step in one number.
TEST(Encoder, HasTheGradientsThatFiniteDifferencesOfFp64Give) {
  for (const auto& context : kernels::testing::contexts()) {
    for (std::uint32_t seed = 0; seed < 60; ++seed) {
      Random random(seed);
      const Type type = seed % 4 == 3 ? Type::kBf16 : Type::kF32;
      Setting s = random_setting(random, type, 9);
      if (s.shape.activation == Activation::kRelu) s.shape.activation = Activation::kGelu;  // has no corner
      const Tensor x = random_rows(s, random);
      const Index count = static_cast<Index>(s.x.size());
      Tensor y(type, count, random), dy(type, count, random), dx(type, count, random);
      for (Index i = 0; i < count; ++i) {
        if (!valid(s, i / s.shape.width)) dy.set(i, 0);
      }
      Weights gradients(s.shape);
      Encoder layer(*context, s.shape, s.weights, true);
      layer.forward(x.data(), y.data(), s.dropout, s.seed, s.lengths.empty() ? nullptr : s.lengths.data());
      layer.backward(dy.data(), dx.data(), gradients);
      const auto loss = [&] {
        const Matrix out = reference(s);
        double sum = 0;
        for (Index i = 0; i < count; ++i) sum += out[i] * dy[i];
        return sum;
      };
      const auto parts = s.weights.all(), found = gradients.all();
      for (std::size_t part = 0; part < parts.size(); ++part) {
        double largest = 1;
        for (const float g : *found[part]) largest = std::max(largest, std::fabs(static_cast<double>(g)));
        for (int trial = 0; trial < 5; ++trial) {
          if (parts[part]->empty()) continue;
          const auto i = static_cast<std::size_t>(random(0, static_cast<Index>(parts[part]->size()) - 1));
          float& number = (*parts[part])[i];
          const float old = number;
          number = old + 0x1p-11F;
          const double up = number, high = loss();
          number = old - 0x1p-11F;
          const double slope = (high - loss()) / (up - number);
          number = old;
          ASSERT_NEAR((*found[part])[i], slope, (type == Type::kF32 ? 2e-4 : 1e-1) * largest)
              << "seed " << seed << " part " << part << " " << kernels::testing::name_of(*context);
        }
      }
      double largest = 1;
      for (Index i = 0; i < count; ++i) largest = std::max(largest, std::fabs(dx[i]));
      for (int trial = 0; trial < 8; ++trial) {
        const Index i = random(0, count - 1);
        const double old = s.x[i];
        s.x[i] = old + 1e-5;
        const double high = loss();
        s.x[i] = old - 1e-5;
        const double slope = (high - loss()) / 2e-5;
        s.x[i] = old;
        ASSERT_NEAR(dx[i], slope, (type == Type::kF32 ? 2e-4 : 1e-1) * largest) << "seed " << seed;
      }
    }
  }
}

TEST(Encoder, IsTheSameToTheLastBitForAnyNumberOfThreads) {
  std::vector<std::vector<unsigned char>> outputs, input_gradients;
  std::vector<std::vector<float>> weight_gradients;
  for (const int threads : {1, 2, 4}) {
    Random random(5);
    Setting s = random_setting(random, Type::kF32, 9);
    s.shape.batch = 2, s.shape.length = 150, s.shape.heads = 2, s.shape.width = 64, s.shape.hidden = 200;
    s.dropout = {0.1, 0.1, 0.1, 0.1};
    s.lengths.clear();
    s.weights = Weights(s.shape);
    for (std::vector<float>* part : s.weights.all()) {
      for (float& v : *part) v += 0.1F * random.normal();
    }
    const Tensor x = random_rows(s, random), dy = x;
    Tensor y = x, dx = x;
    kernels::Context context(threads);
    Encoder layer(context, s.shape, s.weights, true);
    Weights gradients(s.shape);
    layer.forward(x.data(), y.data(), s.dropout, 3);
    layer.backward(dy.data(), dx.data(), gradients);
    outputs.push_back(y.bytes());
    input_gradients.push_back(dx.bytes());
    std::vector<float> together;
    for (const std::vector<float>* part : gradients.all()) together.insert(together.end(), part->begin(), part->end());
    weight_gradients.push_back(together);
  }
  for (std::size_t i = 1; i < outputs.size(); ++i) {
    EXPECT_TRUE(outputs[i] == outputs[0]);
    EXPECT_TRUE(input_gradients[i] == input_gradients[0]);
    EXPECT_TRUE(weight_gradients[i] == weight_gradients[0]);
  }
}

TEST(Encoder, TakesNewWeightsAndANaNReachesItsOwnSequenceOnly) {
  Random random(9);
  Setting s = random_setting(random, Type::kF32, 9);
  s.shape.batch = 2, s.shape.length = 7, s.lengths.clear(), s.dropout = {}, s.shape.causal = false;
  Tensor x = random_rows(s, random);
  const Index half = static_cast<Index>(s.x.size()) / 2;
  kernels::Context context(2);
  Encoder layer(context, s.shape, Weights(s.shape), false);
  layer.set_weights(s.weights);
  Tensor y = x;
  layer.infer(x.data(), y.data());
  const Matrix exact = reference(s);
  for (Index i = 0; i < 2 * half; ++i) ASSERT_NEAR(y[i], exact[i], 1e-3);
  x.set(half, std::numeric_limits<float>::quiet_NaN());
  layer.infer(x.data(), y.data());
  for (Index i = 0; i < 2 * half; ++i) ASSERT_EQ(std::isnan(y[i]), i >= half);
}

TEST(Encoder, KeepsNoMoreForTheBackwardPassThanItsDescriptionSays) {
  kernels::Context context(1);
  for (const Type type : {Type::kF32, Type::kBf16}) {
    Shape shape;
    shape.batch = 8, shape.length = 128, shape.width = 256, shape.heads = 4, shape.hidden = 1024, shape.type = type;
    const Encoder layer(context, shape, Weights(shape), true);
    const std::size_t x = 8 * 128 * 256 * static_cast<std::size_t>(bytes_of(type)), token = 8 * 128;
    EXPECT_EQ(layer.saved_bytes(), 10 * x + token * (4 + 2) * 4);
  }
}

TEST(Encoder, OfImpossibleShapesIsRefused) {
  kernels::Context context(1);
  Shape shape;
  EXPECT_THROW(Encoder(context, shape, Weights(shape), true), base::InputError);
  shape.width = 10, shape.heads = 3, shape.hidden = 4;
  EXPECT_THROW(Encoder(context, shape, Weights(shape), true), base::InputError);
  shape.heads = 5;
  Shape other = shape;
  other.hidden = 5;
  EXPECT_THROW(Encoder(context, shape, Weights(other), true), base::InputError);
  Encoder layer(context, shape, Weights(shape), false);
  Weights gradients(shape);
  std::vector<float> x(10), y(10);
  EXPECT_THROW(layer.forward(x.data(), y.data(), {}, 0), base::InternalError);
  EXPECT_THROW(layer.backward(x.data(), y.data(), gradients), base::InternalError);
}

}  // namespace
}  // namespace orrery::layer
