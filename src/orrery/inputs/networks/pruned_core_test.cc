// Layers whose attention is pruned: by a pattern they are layers with that window, and their gradients are those of a
// mask that stays as it is.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "orrery/engines/masks/static_mask.h"
#include "orrery/runtime/layer/layer_test_util.h"
#include "orrery/runtime/pruning/pruned_core.h"

namespace orrery::verbs {
namespace {

using kernels::Index;
using kernels::Type;
using kernels::testing::Random;
using kernels::testing::Tensor;
using layer::Encoder;
using layer::Shape;

masks::Pruning by_pattern(masks::Mask pattern) {
  masks::Pruning pruning;
  pruning.pattern = std::make_shared<masks::Mask>(std::move(pattern));
  pruning.empty = masks::EmptyRows::kZero;
  return pruning;
}

layer::testing::Setting setting_of(const Shape& shape) {
  Random random(3);
  layer::testing::Setting s;
  s.shape = shape, s.seed = 77;
  draw_weights(s, random);
  return s;
}

struct Passes {
  Tensor y, dx;
};

Passes passes(kernels::Context& context, layer::testing::Setting& s, layer::AttentionCore* core, const Index* lengths) {
  Random random(4);
  const Tensor x = random_rows(s, random, s.x);
  Encoder layer(context, s.shape, s.weights, true);
  layer.replace_attention(core);
  Passes out{x, x};
  layer::Weights gradients(s.shape);
  layer.forward(x.data(), out.y.data(), {}, 1, lengths);
  layer.backward(x.data(), {out.dx.data(), nullptr, false}, gradients);
  return out;
}

TEST(PrunedCore, ByAPatternIsALayerWithThatWindow) {
  kernels::Context context(2);
  for (const Type type : {Type::kF64, Type::kF32, Type::kBf16}) {
    for (const bool padded : {false, true}) {
      Shape shape;
      shape.type = type, shape.batch = 2, shape.length = 40, shape.width = 16, shape.heads = 2, shape.hidden = 12;
      layer::testing::Setting all = setting_of(shape), windowed = all;
      windowed.shape.causal = true, windowed.shape.window = 5;
      const Index lengths[] = {40, 23};
      masks::Pattern pattern;
      pattern.kind = masks::PatternKind::kSliding;
      pattern.window = 5;
      pruning::PrunedAttention core(by_pattern(masks::static_mask(pattern, 64, 1, 0)));
      const Passes pruned = passes(context, all, &core, padded ? lengths : nullptr);
      const Passes wanted = passes(context, windowed, nullptr, padded ? lengths : nullptr);
      const double bound = type == Type::kF64 ? 1e-12 : type == Type::kF32 ? 1e-4 : 0.2;
      for (Index i = 0; i < 2 * 40 * 16; ++i) {
        ASSERT_NEAR(pruned.y[i], wanted.y[i], bound) << i;
        ASSERT_NEAR(pruned.dx[i], wanted.dx[i], bound) << i;
      }
      EXPECT_LT(core.prediction().mask.kept(), 2 * 2 * 40 * 6);
    }
  }
}

TEST(PrunedCore, HasTheGradientsOfAMaskThatStays) {
  kernels::Context context(1);
  Shape shape;
  shape.type = Type::kF64, shape.length = 30, shape.width = 16, shape.heads = 2, shape.hidden = 12;
  layer::testing::Setting s = setting_of(shape);
  masks::PredictorOptions options;
  options.threshold = 0.03;
  pruning::PrunedAttention core(options);
  Random random(4);
  Tensor x = random_rows(s, random, s.x);
  Encoder layer(context, s.shape, s.weights, true);
  layer.replace_attention(&core);
  const Tensor given = x;  // the gradient of y
  Tensor y = x, dx = x;
  layer::Weights gradients(s.shape);
  layer.forward(x.data(), y.data(), {}, 1);
  layer.backward(given.data(), {dx.data(), nullptr, false}, gradients);
  const masks::Mask mask = core.prediction().mask;
  ASSERT_GT(mask.kept(), 2 * 30);
  ASSERT_LT(mask.kept(), 2 * 30 * 25);
  int compared = 0;
  for (Index i = 0; i < 30 * 16; i += 7) {
    const double old = x[i];
    double loss[2], at[2];
    bool same = true;
    for (int side = 0; side < 2; ++side) {
      x.set(i, static_cast<float>(old) + (side == 0 ? -0x1p-12F : 0x1p-12F));
      at[side] = x[i];
      layer.forward(x.data(), y.data(), {}, 1);
      same = same && core.prediction().mask == mask;
      loss[side] = 0;
      for (Index j = 0; j < 30 * 16; ++j) loss[side] += y[j] * given[j];
    }
    x.set(i, static_cast<float>(old));
    if (!same) continue;  // another mask is another function
    ++compared;
    ASSERT_NEAR((loss[1] - loss[0]) / (at[1] - at[0]), dx[i], 1e-4) << i;
  }
  EXPECT_GT(compared, 30);
}

}  // namespace
}  // namespace orrery::verbs
