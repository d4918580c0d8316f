// For tests: a layer's equations in fp64, one loop each, whatever its options; random layers and inputs.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "orrery/runtime/kernels/dropout.h"
#include "orrery/runtime/kernels/level_test_util.h"
#include "orrery/runtime/layer/encoder.h"

namespace orrery::layer::testing {

using kernels::Activation;
using kernels::DropPattern;
using kernels::Type;
using kernels::testing::Random;
using kernels::testing::Tensor;
using Matrix = std::vector<double>;

// Everything that determines y.
struct Setting {
  Shape shape;
  Weights weights{Shape{}};
  Dropout dropout;
  std::uint64_t seed = 0;
  std::vector<Index> lengths, memory_lengths;
  std::vector<float> mask, memory_mask;  // [batch][length][keys]
  Matrix x, memory;

  Index length_of(Index sequence) const { return lengths.empty() ? shape.length : lengths[sequence]; }
  Index memory_of(Index sequence) const {
    return memory_lengths.empty() ? shape.memory_length : memory_lengths[sequence];
  }
  // Whether a token is one of a sequence rather than padding.
  bool valid(Index token) const { return token % shape.length < length_of(token / shape.length); }
  Index valid_rows() const {
    Index rows = 0;
    for (Index t = 0; t < shape.batch * shape.length; ++t) rows += valid(t) ? 1 : 0;
    return rows;
  }
};

inline Matrix linear(const Matrix& x, const std::vector<float>& w, const std::vector<float>& bias, Index inputs) {
  const Index outputs = static_cast<Index>(w.size()) / inputs, rows = static_cast<Index>(x.size()) / inputs;
  Matrix y(rows * outputs);
  for (Index r = 0; r < rows; ++r) {
    for (Index o = 0; o < outputs; ++o) {
      double sum = bias.empty() ? 0 : bias[o];
      for (Index i = 0; i < inputs; ++i) sum += x[r * inputs + i] * w[o * inputs + i];
      y[r * outputs + o] = sum;
    }
  }
  return y;
}

// A token's row in the pattern is its number among those that are no padding.
inline void drop(const Setting& s, Matrix& x, Index columns, double probability, std::uint32_t stream) {
  const DropPattern pattern = kernels::drop_pattern(probability, s.seed, stream);
  std::uint64_t row = 0;
  for (Index t = 0; t < static_cast<Index>(x.size()) / columns; ++t) {
    if (!s.valid(t)) continue;
    for (Index i = 0; i < columns; ++i)
      x[t * columns + i] *= kernels::keeps(pattern, row, static_cast<std::uint64_t>(i)) ? pattern.scale : 0.0;
    ++row;
  }
}

inline Matrix norm(const Matrix& x, const std::vector<float>& scale, const std::vector<float>& shift,
                   const Shape& shape) {
  const std::size_t columns = scale.size();
  Matrix y(x.size());
  for (std::size_t r = 0; r < x.size(); r += columns) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < columns && shape.centred; ++i) mean += x[r + i] / static_cast<double>(columns);
    for (std::size_t i = 0; i < columns; ++i) variance += std::pow(x[r + i] - mean, 2) / static_cast<double>(columns);
    for (std::size_t i = 0; i < columns; ++i) {
      y[r + i] = (x[r + i] - mean) / std::sqrt(variance + shape.epsilon) * scale[i] + (shift.empty() ? 0 : shift[i]);
    }
  }
  return y;
}

inline double activated(Activation which, double x) {
  if (which == Activation::kRelu) return x > 0 ? x : 0;
  if (which == Activation::kGelu) return x * std::erfc(-x / std::sqrt(2.0)) / 2;
  if (which == Activation::kGeluTanh) return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  return x / (1 + std::exp(-x));
}

// Queries against keys, both [batch][positions][heads][head] with their own strides.
struct Heads {
  const Matrix& all;
  Index positions, row, first;
  double operator()(Index b, Index p, Index at) const { return all[(b * positions + p) * row + first + at]; }
};

inline Matrix attended(const Setting& s, const Heads& q, const Heads& k, const Heads& v, bool cross) {
  const Shape& shape = s.shape;
  const Index size = shape.head(), heads = shape.heads, group = heads / shape.kv_heads();
  const DropPattern pattern =
      kernels::drop_pattern(cross ? s.dropout.cross_attention : s.dropout.attention, s.seed, cross ? 4 : 0);
  const double scale = shape.score_scale != 0 ? shape.score_scale : 1 / std::sqrt(static_cast<double>(size));
  const std::vector<float>& mask = cross ? s.memory_mask : s.mask;
  Matrix out(shape.batch * q.positions * heads * size);
  for (Index b = 0; b < shape.batch; ++b) {
    const Index keys = cross ? s.memory_of(b) : s.length_of(b);
    for (Index h = 0; h < heads; ++h) {
      for (Index j = 0; j < s.length_of(b); ++j) {
        Matrix p(keys, 0.0);
        double sum = 0;
        for (Index i = 0; i < keys; ++i) {
          if (!cross && shape.causal && i > j) continue;
          if (!cross && shape.window != 0 && std::abs(i - j) >= shape.window) continue;
          double score = 0;
          for (Index d = 0; d < size; ++d) score += q(b, j, h * size + d) * k(b, i, h / group * size + d);
          score *= scale;
          if (!mask.empty()) score += mask[(b * q.positions + j) * k.positions + i];
          sum += p[i] = std::exp(score);
        }
        for (Index i = 0; i < keys && sum > 0; ++i) {
          const auto row = static_cast<std::uint64_t>((b * heads + h) * q.positions + j);
          const double factor = kernels::keeps(pattern, row, static_cast<std::uint64_t>(i)) ? pattern.scale : 0.0;
          for (Index d = 0; d < size; ++d) {
            out[(b * q.positions + j) * heads * size + h * size + d] +=
                p[i] / sum * factor * v(b, i, h / group * size + d);
          }
        }
      }
    }
  }
  return out;
}

// Pairs (a, b) as complex numbers a + i b, multiplied by e^(i angle).
inline void rotate(const Shape& s, Matrix& qkv, Index heads) {
  const Index turned = s.rotary_size == 0 ? s.head() : s.rotary_size, row = s.qkv_width();
  for (Index t = 0; t < s.batch * s.length; ++t) {
    for (Index h = 0; h < heads; ++h) {
      for (Index i = 0; i < turned / 2; ++i) {
        const double angle = static_cast<double>(t % s.length) *
                             std::pow(s.rotary_base, -2.0 * static_cast<double>(i) / static_cast<double>(turned));
        const Index at = t * row + h * s.head();
        double& a = qkv[at + (s.rotary == Rotary::kPairs ? 2 * i : i)];
        double& b = qkv[at + (s.rotary == Rotary::kPairs ? 2 * i + 1 : i + turned / 2)];
        const double old = a;
        a = old * std::cos(angle) - b * std::sin(angle);
        b = b * std::cos(angle) + old * std::sin(angle);
      }
    }
  }
}

inline Matrix attention_branch(const Setting& s, const Matrix& read) {
  const Shape& h = s.shape;
  Matrix qkv = linear(read, s.weights.qkv, s.weights.qkv_bias, h.width);
  if (h.rotary != Rotary::kNone) rotate(h, qkv, h.heads + h.kv_heads());
  const Index row = h.qkv_width(), keys = h.query_width(), values = keys + h.key_width();
  Matrix y =
      linear(attended(s, {qkv, h.length, row, 0}, {qkv, h.length, row, keys}, {qkv, h.length, row, values}, false),
             s.weights.out, s.weights.out_bias, h.query_width());
  drop(s, y, h.width, s.dropout.first, 1);
  return y;
}

inline Matrix cross_branch(const Setting& s, const Matrix& read) {
  const Shape& h = s.shape;
  const Matrix q = linear(read, s.weights.cross_query, s.weights.cross_query_bias, h.width);
  const Matrix kv = linear(s.memory, s.weights.cross_key_value, s.weights.cross_key_value_bias, h.memory());
  const Index row = 2 * h.key_width();
  Matrix y = linear(attended(s, {q, h.length, h.query_width(), 0}, {kv, h.memory_length, row, 0},
                             {kv, h.memory_length, row, h.key_width()}, true),
                    s.weights.cross_out, s.weights.cross_out_bias, h.query_width());
  drop(s, y, h.width, s.dropout.cross, 5);
  return y;
}

inline Matrix network_branch(const Setting& s, const Matrix& read) {
  const Weights& w = s.weights;
  Matrix hidden = linear(read, w.up, w.up_bias, s.shape.width);
  const Matrix gate = s.shape.gated ? linear(read, w.gate, w.gate_bias, s.shape.width) : hidden;
  for (std::size_t i = 0; i < hidden.size(); ++i) {
    const double f = activated(s.shape.activation, gate[i]);
    hidden[i] = s.shape.gated ? f * hidden[i] : f;
  }
  drop(s, hidden, s.shape.hidden, s.dropout.hidden, 2);
  Matrix y = linear(hidden, w.down, w.down_bias, s.shape.hidden);
  drop(s, y, s.shape.width, s.dropout.second, 3);
  return y;
}

inline Matrix reference(const Setting& s) {
  const Weights& w = s.weights;
  const bool pre = s.shape.norms == Place::kPre;
  Matrix stream = s.x;
  const auto sublayer = [&](auto branch, const std::vector<float>& scale, const std::vector<float>& shift) {
    const Matrix added = branch(s, pre ? norm(stream, scale, shift, s.shape) : stream);
    for (std::size_t i = 0; i < stream.size(); ++i) stream[i] += added[i];
    if (!pre) stream = norm(stream, scale, shift, s.shape);
  };
  sublayer(attention_branch, w.scale1, w.shift1);
  if (s.shape.cross) sublayer(cross_branch, w.cross_scale, w.cross_shift);
  sublayer(network_branch, w.scale2, w.shift2);
  for (std::size_t i = 0; i < stream.size(); ++i) {
    if (!s.valid(static_cast<Index>(i) / s.shape.width)) stream[i] = 0;
  }
  return stream;
}

inline void draw_weights(Setting& s, Random& random, float scale = 0.4F) {
  s.weights = Weights(s.shape);
  for (std::vector<float>* part : s.weights.all()) {
    for (float& v : *part) v += scale * random.normal();
  }
}

inline std::vector<float> random_mask(Random& random, Index batch, Index queries, Index keys) {
  std::vector<float> mask;
  for (Index i = 0; i < batch * queries * keys; ++i)
    mask.push_back(random.one_in(4) ? -std::numeric_limits<float>::infinity() : random.normal());
  return mask;
}

inline Setting random_setting(Random& random, Type type, Index most) {
  Setting s;
  Shape& shape = s.shape;
  shape.batch = random(1, 3), shape.length = random.size(most);
  shape.key_heads = random(1, 3), shape.heads = shape.key_heads * random(1, 2);
  if (random.one_in(3)) {
    shape.head_size = random(1, 9), shape.width = random(2, 40);
  } else {
    shape.width = shape.heads * random(1, 9);
  }
  shape.hidden = random.one_in(25) ? random(1025, 1400) : random.size(40);
  shape.activation = random.pick({Activation::kRelu, Activation::kGelu, Activation::kSilu, Activation::kGeluTanh});
  shape.norms = random.pick({Place::kPost, Place::kPre});
  shape.gated = random.one_in(3), shape.centred = !random.one_in(3);
  shape.type = type, shape.causal = random.one_in(3), shape.epsilon = 1e-2F;
  if (random.one_in(4)) shape.window = random(1, shape.length);
  if (random.one_in(4)) shape.score_scale = 0.3F;
  if (random.one_in(3) && shape.head() >= 2) {
    shape.rotary = random.pick({Rotary::kHalves, Rotary::kPairs});
    shape.rotary_size = 2 * random(1, shape.head() / 2), shape.rotary_base = 100;
  }
  if (random.one_in(4)) shape.qkv_bias = false;
  if (random.one_in(4)) shape.out_bias = false;
  if (random.one_in(4)) shape.network_bias = false;
  if (random.one_in(4)) shape.shift = false;
  if (random.one_in(3)) {
    shape.cross = true, shape.memory_length = random.size(most);
    if (random.one_in(2)) shape.memory_width = random(1, 20);
  }
  draw_weights(s, random);
  s.seed = 77;
  if (random.one_in(2)) s.dropout = {0.1, 0.2, 0.3, 0.15, 0.25, 0.05};
  if (random.one_in(2)) {
    for (Index n = 0; n < shape.batch; ++n) {
      s.lengths.push_back(random(random.one_in(4) ? 0 : 1, shape.length));
      s.memory_lengths.push_back(random(0, shape.memory_length));
    }
  }
  if (random.one_in(3)) {
    s.mask = random_mask(random, shape.batch, shape.length, shape.length);
    s.memory_mask = random_mask(random, shape.batch, shape.length, shape.memory_length);
  }
  return s;
}

// Random rows, in the shape's type and as fp64. Where rows are padding, NaN: nobody may look at them.
inline Tensor random_rows(const Setting& s, Random& random, Matrix& as_fp64, bool of_memory = false) {
  const Index positions = of_memory ? s.shape.memory_length : s.shape.length;
  const Index columns = of_memory ? s.shape.memory() : s.shape.width;
  Tensor x(s.shape.type, s.shape.batch * positions * columns, random);
  for (Index i = 0; i < s.shape.batch * positions * columns; ++i) {
    as_fp64.push_back(x[i]);
    const Index row = i / columns, sequence = row / positions;
    if (row % positions >= (of_memory ? s.memory_of(sequence) : s.length_of(sequence)))
      x.set(i, std::numeric_limits<float>::quiet_NaN());
  }
  return x;
}

// What a call is given for the setting.
inline Input input_of(const Setting& s, const Tensor& x, const Tensor* memory) {
  Input in;
  in.x = x.data();
  if (!s.lengths.empty()) in.lengths = s.lengths.data();
  const auto mask_of = [&](const std::vector<float>& mask, Index keys) {
    return mask.empty() ? Mask{} : Mask{mask.data(), s.shape.length * keys, 0, keys};
  };
  in.mask = mask_of(s.mask, s.shape.length);
  if (!s.shape.cross) return in;
  in.memory = memory->data();
  if (!s.memory_lengths.empty()) in.memory_lengths = s.memory_lengths.data();
  in.memory_mask = mask_of(s.memory_mask, s.shape.memory_length);
  return in;
}

}  // namespace orrery::layer::testing
