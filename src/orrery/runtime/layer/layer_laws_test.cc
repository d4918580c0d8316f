// Laws that hold whatever the numbers: who influences whom, what padding, masks, caches and threads may not change.
#include <gtest/gtest.h>

#include "orrery/runtime/layer/layer_test_util.h"

namespace orrery::layer {
namespace {

using namespace testing;

Setting setting_of(Shape shape, std::uint32_t seed = 3) {
  Random random(seed);
  Setting s;
  s.shape = shape, s.seed = 77;
  draw_weights(s, random);
  return s;
}

Shape decoder_shape() {
  Shape shape;
  shape.batch = 2, shape.length = 70, shape.width = 24, shape.heads = 4, shape.key_heads = 2, shape.hidden = 40;
  shape.causal = true, shape.cross = true, shape.memory_length = 33, shape.norms = Place::kPre;
  return shape;
}

bool same_rows(const Tensor& a, const Tensor& b, Index first, Index end, Index columns) {
  for (Index i = first * columns; i < end * columns; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

TEST(Layer, WhoseAttentionIsCausalIsNotInfluencedByLaterTokens) {
  for (const auto& context : kernels::testing::contexts()) {
    for (const Rotary rotary : {Rotary::kNone, Rotary::kHalves, Rotary::kPairs}) {
      Shape shape = decoder_shape();
      shape.rotary = rotary;
      Setting s = setting_of(shape);
      Random random(4);
      Tensor x = random_rows(s, random, s.x);
      const Tensor memory = random_rows(s, random, s.memory, true);
      Tensor y = x, later = x;
      Encoder layer(*context, s.shape, s.weights, false);
      layer.infer(input_of(s, x, &memory), y.data());
      const Index from = shape.length + 40;  // of the second sequence
      for (Index i = from * shape.width; i < 2 * shape.length * shape.width; ++i) x.set(i, random.normal());
      layer.infer(input_of(s, x, &memory), later.data());
      EXPECT_TRUE(same_rows(y, later, 0, from, shape.width));
      for (Index t = from; t < 2 * shape.length; ++t) EXPECT_FALSE(same_rows(y, later, t, t + 1, shape.width)) << t;
    }
  }
}

TEST(Layer, WithAWindowSeesNoTokenBeyondIt) {
  kernels::Context context(2);
  for (const bool causal : {false, true}) {
    Shape shape;
    shape.length = 90, shape.width = 16, shape.heads = 2, shape.hidden = 8, shape.window = 7, shape.causal = causal;
    Setting s = setting_of(shape);
    Random random(4);
    Tensor x = random_rows(s, random, s.x), y = x, changed = x;
    Encoder layer(context, shape, s.weights, false);
    layer.infer(x.data(), y.data());
    for (Index i = 0; i < 16; ++i) x.set(50 * 16 + i, random.normal());
    layer.infer(x.data(), changed.data());
    for (Index t = 0; t < 90; ++t) {
      const bool reached = causal ? t >= 50 && t < 57 : t > 43 && t < 57;
      EXPECT_EQ(same_rows(y, changed, t, t + 1, 16), !reached) << t;
    }
  }
}

TEST(Layer, ComputesASequenceAsItDoesAlone) {
  for (const auto& context : kernels::testing::contexts()) {
    Shape shape = decoder_shape();
    shape.batch = 3;
    Setting s = setting_of(shape);
    s.lengths = {70, 1, 41}, s.memory_lengths = {33, 20, 7};
    Random random(4);
    const Tensor x = random_rows(s, random, s.x), memory = random_rows(s, random, s.memory, true);
    Tensor y = x;
    Encoder layer(*context, s.shape, s.weights, false);
    layer.infer(input_of(s, x, &memory), y.data());
    for (Index b = 0; b < 3; ++b) {
      Input alone;
      alone.batch = 1, alone.length = s.lengths[b], alone.memory_length = s.memory_lengths[b];
      alone.x = x.floats() + b * shape.length * shape.width;
      alone.memory = memory.floats() + b * shape.memory_length * shape.width;
      std::vector<float> one(s.lengths[b] * shape.width);
      layer.infer(alone, one.data());
      for (std::size_t i = 0; i < one.size(); ++i)
        ASSERT_EQ(one[i], y[b * shape.length * shape.width + static_cast<Index>(i)]) << b << " " << i;
    }
  }
}

TEST(Layer, WithPaddingHasGradientsOfItsTokensOnly) {
  Setting s = setting_of(decoder_shape());
  s.lengths = {30, 0}, s.memory_lengths = {0, 5};
  Random random(4);
  const Tensor x = random_rows(s, random, s.x), memory = random_rows(s, random, s.memory, true);
  Tensor y = x, dx = x, dm = memory;  // dy: NaN in padding
  kernels::Context context(2);
  Encoder layer(context, s.shape, s.weights, true);
  Weights gradients(s.shape);
  layer.forward(input_of(s, x, &memory), y.data(), {}, 1);
  layer.backward(x.data(), {dx.data(), dm.data(), false}, gradients);
  for (Index i = 0; i < static_cast<Index>(s.x.size()); ++i) ASSERT_EQ(dx[i] == 0, !s.valid(i / s.shape.width)) << i;
  for (Index i = 0; i < static_cast<Index>(s.memory.size()); ++i) ASSERT_EQ(dm[i], 0) << i;  // nobody looks at it
  for (const auto* part : gradients.all()) {
    for (const float g : *part) ASSERT_TRUE(std::isfinite(g));
  }
}

TEST(Layer, OfNoTokensAtAllIsZero) {
  kernels::Context context(2);
  Setting s = setting_of(decoder_shape());
  s.lengths = {0, 0}, s.memory_lengths = {0, 0};
  Random random(4);
  const Tensor x = random_rows(s, random, s.x), memory = random_rows(s, random, s.memory, true);
  Tensor y = x, dx = x, dm = memory;
  Encoder layer(context, s.shape, s.weights, true);
  Weights gradients(s.shape);
  layer.forward(input_of(s, x, &memory), y.data(), {0.1, 0.1, 0.1, 0.1, 0.1, 0.1}, 1);
  layer.backward(x.data(), {dx.data(), dm.data(), false}, gradients);
  for (Index i = 0; i < static_cast<Index>(s.x.size()); ++i) ASSERT_TRUE(y[i] == 0 && dx[i] == 0);
  for (const auto* part : gradients.all()) {
    for (const float g : *part) ASSERT_EQ(g, 0);
  }
}

// With out = identity, no residual stream to speak of: cross attention adds the value of the only key.
TEST(Layer, LooksAtTheOnlyKeyOfItsMemory) {
  Shape shape;
  shape.length = 9, shape.width = 8, shape.heads = 2, shape.hidden = 3, shape.cross = true, shape.memory_length = 1;
  shape.norms = Place::kPre;
  Setting s = setting_of(shape);
  Random random(8);
  const Tensor x = random_rows(s, random, s.x), memory = random_rows(s, random, s.memory, true);
  Weights& w = s.weights;
  for (auto* part : {&w.out, &w.out_bias, &w.down, &w.down_bias, &w.cross_out, &w.cross_out_bias})
    std::fill(part->begin(), part->end(), 0.0F);
  for (Index i = 0; i < 8; ++i) w.cross_out[i * 9] = 1;
  kernels::Context context(1);
  Encoder layer(context, shape, w, false);
  Tensor y = x;
  layer.infer(input_of(s, x, &memory), y.data());
  for (Index t = 0; t < 9; ++t) {
    for (Index i = 0; i < 8; ++i) {
      double value = w.cross_key_value_bias[8 + i];
      for (Index d = 0; d < 8; ++d) value += memory[d] * w.cross_key_value[(8 + i) * 8 + d];
      EXPECT_NEAR(y[t * 8 + i], x[t * 8 + i] + value, 1e-5) << t;
    }
  }
}

TEST(Layer, GeneratesWithACacheWhatItComputesAtOnce) {
  for (const auto& context : kernels::testing::contexts()) {
    for (const Type type : {Type::kF32, Type::kF64}) {
      Shape shape = decoder_shape();
      shape.rotary = Rotary::kHalves, shape.window = 50, shape.type = type;
      Setting s = setting_of(shape);
      s.memory_lengths = {33, 12};
      Random random(4);
      const Tensor x = random_rows(s, random, s.x), memory = random_rows(s, random, s.memory, true);
      Tensor y = x;
      Encoder layer(*context, shape, s.weights, false);
      layer.infer(input_of(s, x, &memory), y.data());
      Cache cache(shape, shape.length);
      for (int again = 0; again < 2; ++again, cache.clear()) {
        Index done = 0;
        for (const Index count : {5, 1, 1, 30, 1, 32}) {
          Input next = input_of(s, x, &memory);
          Tensor part(type, 2 * count * shape.width, random), out = part;
          for (Index b = 0; b < 2; ++b) {
            for (Index i = 0; i < count * shape.width; ++i) {
              part.set(b * count * shape.width + i, static_cast<float>(x[(b * shape.length + done) * shape.width + i]));
            }
          }
          next.x = part.data(), next.length = count;
          layer.infer(next, out.data(), cache);
          for (Index b = 0; b < 2; ++b) {
            for (Index i = 0; i < count * shape.width; ++i) {
              ASSERT_NEAR(out[b * count * shape.width + i], y[(b * shape.length + done) * shape.width + i], 2e-5)
                  << done << " " << i;
            }
          }
          done += count;
        }
        EXPECT_EQ(cache.tokens(), shape.length);
        Input more = input_of(s, x, &memory);
        more.length = 1;
        EXPECT_THROW(layer.infer(more, y.data(), cache), base::InputError);
      }
    }
  }
}

// Rotary scores depend on distances only: attention of a shifted sequence behind unrelated, hidden tokens is the same.
TEST(Layer, WithRotaryPositionsDependsOnDistances) {
  Shape shape;
  shape.length = 20, shape.width = 16, shape.heads = 2, shape.hidden = 8, shape.rotary = Rotary::kHalves;
  shape.type = Type::kF64;
  Setting s = setting_of(shape);
  Random random(4);
  Tensor x = random_rows(s, random, s.x), shifted = x, y = x, y_shifted = x;
  for (Index i = 0; i < 15 * 16; ++i) shifted.set(5 * 16 + i, static_cast<float>(x[i]));
  std::vector<float> first(20 * 20, 0.0F), last = first;
  for (Index j = 0; j < 20; ++j) {
    for (Index k = 0; k < 20; ++k) {
      if (k >= 15) first[j * 20 + k] = -std::numeric_limits<float>::infinity();
      if (k < 5) last[j * 20 + k] = -std::numeric_limits<float>::infinity();
    }
  }
  kernels::Context context(1);
  Encoder layer(context, shape, s.weights, false);
  Input in;
  in.x = x.data(), in.mask = {first.data(), 0, 0, 20};
  layer.infer(in, y.data());
  in.x = shifted.data(), in.mask.data = last.data();
  layer.infer(in, y_shifted.data());
  for (Index i = 0; i < 15 * 16; ++i) ASSERT_NEAR(y[i], y_shifted[5 * 16 + i], 1e-10);
}

TEST(Layer, AddsTheGradientOfAMemoryToWhatIsThere) {
  for (const bool padded : {false, true}) {
    Setting s = setting_of(decoder_shape());
    if (padded) s.lengths = {60, 70}, s.memory_lengths = {33, 20};
    Random random(4);
    const Tensor x = random_rows(s, random, s.x), memory = random_rows(s, random, s.memory, true);
    Tensor y = x, dx = x, once = memory, twice = memory;
    kernels::Context context(2);
    Encoder layer(context, s.shape, s.weights, true);
    Weights gradients(s.shape);
    for (const bool add : {false, true}) {
      layer.forward(input_of(s, x, &memory), y.data(), {}, 1);
      if (!add) layer.backward(x.data(), {dx.data(), once.data(), false}, gradients);
      if (!add) twice = once;
      if (add) layer.backward(x.data(), {dx.data(), twice.data(), true}, gradients);
    }
    for (Index i = 0; i < static_cast<Index>(s.memory.size()); ++i)
      ASSERT_NEAR(twice[i], 2 * once[i], 1e-5 * (1 + std::fabs(once[i])));
  }
}

TEST(Layer, KeepsAsManyElementsAsDropoutSaysAndTheirMean) {
  Shape shape;
  shape.batch = 4, shape.length = 64, shape.width = 64, shape.heads = 1, shape.hidden = 8, shape.norms = Place::kPre;
  Setting s = setting_of(shape);
  Weights& w = s.weights;
  for (auto* part : w.all()) std::fill(part->begin(), part->end(), 0.0F);
  std::fill(w.down_bias.begin(), w.down_bias.end(), 1.0F);  // y = x + drop(1)
  kernels::Context context(2);
  Encoder layer(context, shape, w, true);
  const Index count = 4 * 64 * 64;
  std::vector<float> x(count, 0.0F), y(count), again(count), other(count);
  Dropout dropout;
  dropout.second = 0.3;
  layer.forward(x.data(), y.data(), dropout, 5);
  layer.forward(x.data(), again.data(), dropout, 5);
  layer.forward(x.data(), other.data(), dropout, 6);
  EXPECT_EQ(y, again);
  EXPECT_NE(y, other);
  double kept = 0, mean = 0;
  for (const float v : y) {
    ASSERT_TRUE(v == 0 || std::fabs(v - 1 / 0.7) < 1e-4) << v;
    kept += v != 0, mean += v / static_cast<double>(count);
  }
  const double deviation = std::sqrt(0.3 * 0.7 / static_cast<double>(count));
  EXPECT_NEAR(kept / static_cast<double>(count), 0.7, 4 * deviation);
  EXPECT_NEAR(mean, 1, 4 * deviation / 0.7);
}

struct Outcome {
  std::vector<unsigned char> y, dx, dm;
  std::vector<float> gradients;
  bool operator==(const Outcome&) const = default;
};

TEST(Layer, IsTheSameToTheLastBitForAnyNumberOfThreads) {
  for (const kernels::Level level : kernels::levels()) {
    for (const Type type : {Type::kF32, Type::kBf16, Type::kF16}) {
      std::vector<Outcome> outcomes;
      for (const int threads : {1, 2, 4}) {
        Shape shape;
        shape.batch = 1, shape.length = 600, shape.width = 64, shape.heads = 4, shape.key_heads = 1, shape.hidden = 96;
        shape.cross = true, shape.memory_length = 300, shape.type = type, shape.rotary = Rotary::kHalves;
        if (type == Type::kF16) shape.length = 60, shape.memory_length = 30;
        Setting s = setting_of(shape);
        s.dropout = {0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
        s.lengths = {shape.length - 7};
        Random random(5);
        const Tensor x = random_rows(s, random, s.x), memory = random_rows(s, random, s.memory, true);
        Tensor y = x, dx = x, dm = memory;
        kernels::Context context(threads, level);
        Encoder layer(context, shape, s.weights, true);
        Weights gradients(shape);
        layer.forward(input_of(s, x, &memory), y.data(), s.dropout, 3);
        layer.backward(x.data(), {dx.data(), dm.data(), false}, gradients);
        Outcome o{y.bytes(), dx.bytes(), dm.bytes(), {}};
        for (const auto* part : gradients.all()) o.gradients.insert(o.gradients.end(), part->begin(), part->end());
        for (const float g : o.gradients) ASSERT_TRUE(std::isfinite(g));
        outcomes.push_back(o);
      }
      EXPECT_TRUE(outcomes[1] == outcomes[0]) << name_of(level);
      EXPECT_TRUE(outcomes[2] == outcomes[0]) << name_of(level);
    }
  }
}

TEST(Layer, TakesNewWeightsAndANaNReachesItsOwnSequenceOnly) {
  for (const Type type : {Type::kF32, Type::kF64}) {
    Shape shape;
    shape.batch = 2, shape.length = 7, shape.width = 12, shape.heads = 3, shape.hidden = 9, shape.type = type;
    Setting s = setting_of(shape);
    Random random(9);
    Tensor x = random_rows(s, random, s.x);
    const Index half = static_cast<Index>(s.x.size()) / 2;
    kernels::Context context(2);
    Encoder layer(context, s.shape, Weights(s.shape), false);
    layer.set_weights(s.weights);
    Tensor y = x;
    layer.infer(x.data(), y.data());
    const Matrix exact = reference(s);
    for (Index i = 0; i < 2 * half; ++i) ASSERT_NEAR(y[i], exact[i], 1e-4);
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      x.set(half, bad);
      layer.infer(x.data(), y.data());
      for (Index i = 0; i < 2 * half; ++i) ASSERT_EQ(std::isnan(y[i]), i >= half) << i;
    }
  }
}

// A core that counts its calls and leaves the work to the built-in one.
struct Counting : AttentionCore {
  int forwards = 0, backwards = 0;
  Index keys = 0;
  void forward(kernels::Context& context, const kernels::Attention& attention) override {
    ++forwards, keys = attention.keys;
    kernels::attend(context, attention);
  }
  void backward(kernels::Context& context, const kernels::Attention& attention) override {
    ++backwards;
    kernels::attend_back(context, attention);
  }
};

// A core that hands each query the value at its own place.
struct Own : AttentionCore {
  void forward(kernels::Context&, const kernels::Attention& a) override {
    for (Index b = 0; b < a.batch; ++b) {
      for (Index h = 0; h < a.heads; ++h) {
        for (Index j = 0; j < a.queries; ++j) {
          const auto at = [&](const kernels::Vectors& v) {
            return static_cast<float*>(v.data) + b * v.batch + h * v.head + j * v.position;
          };
          std::copy_n(at(a.value), a.value_size, at(a.out));
        }
      }
    }
  }
  void backward(kernels::Context&, const kernels::Attention&) override {}
};

TEST(Layer, LeavesAttentionToTheCoreThatReplacesIt) {
  Shape shape = decoder_shape();
  Setting s = setting_of(shape);
  Random random(4);
  const Tensor x = random_rows(s, random, s.x), memory = random_rows(s, random, s.memory, true);
  kernels::Context context(2);
  Encoder layer(context, shape, s.weights, true);
  const auto outcome = [&] {
    Tensor y = x, dx = x, dm = memory;
    Weights gradients(shape);
    layer.forward(input_of(s, x, &memory), y.data(), {}, 1);
    layer.backward(x.data(), {dx.data(), dm.data(), false}, gradients);
    return Outcome{y.bytes(), dx.bytes(), dm.bytes(), gradients.qkv};
  };
  const Outcome built_in = outcome();
  Counting self, cross;
  layer.replace_attention(&self);
  layer.replace_cross_attention(&cross);
  EXPECT_TRUE(outcome() == built_in);
  EXPECT_EQ(self.forwards + self.backwards + cross.forwards + cross.backwards, 4);
  EXPECT_EQ(self.keys, shape.length);
  EXPECT_EQ(cross.keys, shape.memory_length);
  layer.replace_attention(nullptr);
  layer.replace_cross_attention(nullptr);
  EXPECT_TRUE(outcome() == built_in);

  // Queries that see themselves only are what the mask of a window of one token makes.
  Shape own_shape;
  own_shape.length = 12, own_shape.width = 8, own_shape.heads = 2, own_shape.hidden = 4;
  Setting t = setting_of(own_shape);
  const Tensor z = random_rows(t, random, t.x);
  Own own;
  Encoder replaced(context, own_shape, t.weights, false);
  replaced.replace_attention(&own);
  own_shape.window = 1;
  Encoder windowed(context, own_shape, t.weights, false);
  Tensor a = z, b = z;
  replaced.infer(z.data(), a.data());
  windowed.infer(z.data(), b.data());
  for (Index i = 0; i < 12 * 8; ++i) ASSERT_NEAR(a[i], b[i], 1e-6);
}

TEST(Layer, SharesAWorkspaceWithOthersThatRunAfterIt) {
  Shape shape;
  shape.length = 20, shape.width = 16, shape.heads = 2, shape.hidden = 24;
  const Setting s = setting_of(shape), t = setting_of(shape, 11);
  Setting u = s;
  Random random(4);
  const Tensor x = random_rows(s, random, u.x);
  kernels::Context context(2);
  const auto run = [&](std::shared_ptr<Workspace> one, std::shared_ptr<Workspace> two) {
    Encoder first(context, shape, s.weights, true, one), second(context, shape, t.weights, true, two);
    Tensor middle = x, y = x, dm = x, dx = x;
    Weights gradients(shape);
    first.forward(x.data(), middle.data(), {0.1, 0.1, 0.1, 0.1}, 1);
    second.forward(middle.data(), y.data(), {0.1, 0.1, 0.1, 0.1}, 2);
    second.backward(y.data(), dm.data(), gradients);
    first.backward(dm.data(), dx.data(), gradients);
    return Outcome{y.bytes(), dx.bytes(), dm.bytes(), gradients.qkv};
  };
  const auto shared = std::make_shared<Workspace>();
  EXPECT_TRUE(run(shared, shared) == run(nullptr, nullptr));
}

}  // namespace
}  // namespace orrery::layer
