#include "orrery/runtime/network/adamw.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/runtime/network/loss.h"
#include "orrery/runtime/network/network.h"

namespace orrery::network {
namespace {

TEST(AdamW, FollowsItsEquationsInDoublePrecision) {
  kernels::Context context(2);
  std::vector<float> w{1, -2, 0.5F}, bias{0.3F};
  std::vector<double> exact{1, -2, 0.5, 0.3F}, m(4), v(4);
  std::vector<float> gw(3), gb(1);
  AdamWState state;
  const AdamWOptions options{.rate = 0.01, .decay = 0.1};
  for (int t = 1; t <= 50; ++t) {
    for (int i = 0; i < 4; ++i) {
      const double g = std::sin(t * 0.7 + i);
      (i < 3 ? gw[static_cast<std::size_t>(i)] : gb[0]) = static_cast<float>(g);
      const auto k = static_cast<std::size_t>(i);
      if (i < 3) exact[k] *= 1 - options.rate * options.decay;
      m[k] = 0.9 * m[k] + 0.1 * g, v[k] = 0.999 * v[k] + 0.001 * g * g;
      exact[k] -= options.rate * (m[k] / (1 - std::pow(0.9, t))) / (std::sqrt(v[k] / (1 - std::pow(0.999, t))) + 1e-8);
    }
    adamw_step(context, {{"w", &w, true}, {"b", &bias, false}}, {{"w", &gw, true}, {"b", &gb, false}}, options,
               options.rate, state);
  }
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(w[i], exact[i], 1e-5);
  EXPECT_NEAR(bias[0], exact[3], 1e-5);
  EXPECT_EQ(state.steps, 50);
}

TEST(AdamW, ThePartsOfNewGradientsAreRoundedOnce) {
  // 1 - 0.999F is 1.3e-5 less than 0.001: a step would be half of that too long.
  kernels::Context context(1);
  std::vector<float> w(1000), g(1000);
  for (std::size_t i = 0; i < g.size(); ++i)
    g[i] = std::ldexp(std::sin(static_cast<float>(i) + 1), -static_cast<int>(i % 20));
  AdamWState state;
  adamw_step(context, {{"w", &w}}, {{"w", &g}}, {}, 1, state);
  constexpr double kRounding = 3 * 0x1p-24;
  for (std::size_t i = 0; i < g.size(); ++i) {
    EXPECT_NEAR(state.first[0][i], 0.1 * g[i], 0.1 * std::abs(g[i]) * kRounding);
    EXPECT_NEAR(state.second[0][i], 0.001 * g[i] * g[i], 0.001 * g[i] * g[i] * kRounding);
    EXPECT_NEAR(w[i], -g[i] / (std::abs(g[i]) + 1e-8), 3 * kRounding);
  }
}

TEST(AdamW, WhatDoesNotLearnStays) {
  kernels::Context context(1);
  std::vector<float> w{1}, g{1};
  AdamWState state;
  adamw_step(context, {{"w", &w, true, false}}, {{"w", &g, true, false}}, {}, 0.1, state);
  EXPECT_EQ(w[0], 1);
}

TEST(Clip, TheNormIsAtMostWhatIsAllowedAndTheDirectionStays) {
  kernels::Context context(2);
  std::vector<float> a(40000, 0.03F), b{4};
  const std::vector<Parameter> gradients{{"a", &a}, {"b", &b}};
  const double norm = clip(context, gradients, 1);
  EXPECT_NEAR(norm, std::sqrt(40000 * 0.0009 + 16), 1e-4);
  EXPECT_NEAR(clip(context, gradients, 0), 1, 1e-4);
  EXPECT_NEAR(b[0] / a[0], 4 / 0.03F, 1e-3);
  clip(context, gradients, 5);
  EXPECT_NEAR(b[0], 4 / norm, 1e-4);
}

TEST(LinearRate, RisesInTheWarmUpAndFallsToZero) {
  EXPECT_EQ(linear_rate(1, 0, 10, 110), 0);
  EXPECT_EQ(linear_rate(1, 5, 10, 110), 0.5);
  EXPECT_EQ(linear_rate(1, 10, 10, 110), 1);
  EXPECT_EQ(linear_rate(1, 60, 10, 110), 0.5);
  EXPECT_EQ(linear_rate(1, 110, 10, 110), 0);
  EXPECT_EQ(linear_rate(1, 0, 0, 4), 1);
}

TEST(CrossEntropy, IsTheNegativeLogarithmOfTheProbability) {
  kernels::Context context(2);
  std::vector<float> logits{1, 2, 3, 1000, 0, -1000};
  const std::vector<std::int32_t> labels{0, 1};
  const double loss = cross_entropy(context, logits.data(), 2, 3, labels.data(), 2);
  const double sum = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
  EXPECT_NEAR(loss, -std::log(std::exp(1.0) / sum) + 1000, 1e-9);
  EXPECT_NEAR(logits[0], 2 * (std::exp(1.0) / sum - 1), 1e-6);
  EXPECT_NEAR(logits[1], 2 * std::exp(2.0) / sum, 1e-6);
  EXPECT_EQ(logits[3], 2);
  EXPECT_EQ(logits[4], -2);
}

TEST(SpanLoss, IsTheMeanOfBothSidesOverTheirLabels) {
  std::vector<float> logits(2 * 5, 0.0F);  // tokens of sequences of 2 and 3
  const std::vector<std::int32_t> begins{1, 2}, ends{0, 7};
  const double loss = span_loss(logits.data(), {2, 3}, begins.data(), ends.data(), 1);
  EXPECT_NEAR(loss, 0.5 * (0.5 * (std::log(2.0) + std::log(3.0)) + std::log(2.0)), 1e-12);
  for (int i = 2; i < 5; ++i) EXPECT_EQ(logits[static_cast<std::size_t>(2 * i + 1)], 0) << "no end is labelled there";
}

TEST(Initialise, OfTheHeadAloneDrawsWhatItDrawsBesideTheRest) {
  Description d;
  d.width = 8;
  d.embedding.words = 30, d.embedding.positions = 20;
  d.head.kind = HeadKind::kClassification, d.head.outputs = 3;
  Parameters whole(d), head(d);
  initialise(whole, d, 3);
  initialise_head(head, d, 3);
  EXPECT_EQ(whole.head.out, head.head.out);
  EXPECT_NE(head.head.out, std::vector<float>(24, 0.0F));
  EXPECT_EQ(head.embedding.words, std::vector<float>(240, 0.0F));
}

TEST(Initialise, MatricesHaveTheDeviationAndVectorsAreAsTheyWere) {
  Description d;
  d.width = 64;
  d.embedding.words = 500, d.embedding.positions = 20, d.embedding.norm = true;
  Parameters parameters(d), again(d);
  initialise(parameters, d, 3);
  initialise(again, d, 3);
  EXPECT_EQ(parameters.embedding.words, again.embedding.words);
  double sum = 0, square = 0;
  for (const float w : parameters.embedding.words) sum += w, square += double{w} * w;
  EXPECT_NEAR(sum / 32000, 0, 5e-4);
  EXPECT_NEAR(std::sqrt(square / 32000), 0.02, 3e-4);
  EXPECT_EQ(parameters.embedding.scale, std::vector<float>(64, 1.0F));
  initialise(again, d, 4);
  EXPECT_NE(parameters.embedding.words, again.embedding.words);
}

}  // namespace
}  // namespace orrery::network
