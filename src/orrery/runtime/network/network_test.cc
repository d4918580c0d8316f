#include "orrery/runtime/network/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "orrery/runtime/network/network_test_util.h"

namespace orrery::network {
namespace {

class Families : public testing::TestWithParam<std::tuple<std::string, HeadKind>> {
 protected:
  TestModel made_ = test_model(std::get<0>(GetParam()), std::get<1>(GetParam()));
  Parameters parameters_ = test_parameters(made_.description);
  kernels::Context context_{1};
};

TEST_P(Families, GradientsAreSlopesOfTheLoss) {
  Network network(context_, made_.description, parameters_, made_.size, true);
  Parameters gradients(made_.description);
  network.learn(made_.batch, made_.labels, 5, 1, gradients);
  const std::vector<Parameter> values = list(parameters_, made_.description);
  const std::vector<Parameter> slopes = list(gradients, made_.description);
  std::mt19937 random(3);
  for (std::size_t p = 0; p < values.size(); ++p) {
    // Along the gradient the slope is its norm; along another direction the projection.
    const std::vector<float> before = *values[p].values;
    double norm = 0;
    for (const float g : *slopes[p].values) norm += double{g} * g;
    norm = std::sqrt(norm);
    const double step = 3e-3;
    double found = 0;
    for (const double side : {1.0, -1.0}) {
      for (std::size_t i = 0; i < before.size(); ++i)
        (*values[p].values)[i] =
            before[i] +
            static_cast<float>(side * step * (norm > 1e-6 ? (*slopes[p].values)[i] / norm : (i % 2 ? 0.1 : -0.1)));
      network.update();
      found += side * network.loss(made_.batch, made_.labels) / (2 * step);
    }
    *values[p].values = before;
    EXPECT_NEAR(found, norm, 0.02 * norm + 2e-3) << values[p].name;
  }
}

TEST_P(Families, WithoutDropoutLearningReportsTheLoss) {
  Network network(context_, made_.description, parameters_, made_.size, true);
  Parameters gradients(made_.description);
  const double learned = network.learn(made_.batch, made_.labels, 5, 0.25, gradients);
  EXPECT_NEAR(learned, network.loss(made_.batch, made_.labels), 1e-6 * learned);
}

TEST_P(Families, ScaledGradientsAreTheScaleTimesTheGradients) {
  Network network(context_, made_.description, parameters_, made_.size, true);
  Parameters whole(made_.description), half(made_.description);
  network.learn(made_.batch, made_.labels, 5, 1, whole);
  network.learn(made_.batch, made_.labels, 5, 0.5, half);
  const auto a = list(whole, made_.description), b = list(half, made_.description);
  for (std::size_t p = 0; p < a.size(); ++p)
    for (std::size_t i = 0; i < a[p].values->size(); ++i)
      ASSERT_NEAR((*a[p].values)[i], 2 * (*b[p].values)[i], 1e-6 + 1e-5 * std::abs((*a[p].values)[i])) << a[p].name;
}

TEST_P(Families, ThreadsDoNotChangeABitOfTheGradients) {
  made_.description.dropout = {{0.1, 0.2, 0.1, 0.1, 0.1, 0.2}, 0.1, 0.1};
  std::vector<std::vector<float>> seen;
  for (const int threads : {1, 2}) {
    kernels::Context context(threads);
    Network network(context, made_.description, parameters_, made_.size, true);
    Parameters gradients(made_.description);
    network.learn(made_.batch, made_.labels, 5, 1, gradients);
    std::vector<float> all;
    for (const Parameter& parameter : list(gradients, made_.description))
      all.insert(all.end(), parameter.values->begin(), parameter.values->end());
    seen.push_back(all);
  }
  EXPECT_EQ(seen[0], seen[1]);
}

TEST_P(Families, WhatStandsInPaddingIsNotSeen) {
  Network network(context_, made_.description, parameters_, made_.size, true);
  const double before = network.loss(made_.batch, made_.labels);
  for (Tokens* const tokens : {&made_.batch.tokens, &made_.batch.targets})
    for (Index s = 0; s < tokens->sequences; ++s)
      for (Index i = tokens->length_of(s); i < tokens->length; ++i)
        tokens->words[static_cast<std::size_t>(s * tokens->length + i)] = 0;
  EXPECT_EQ(before, network.loss(made_.batch, made_.labels));
}

INSTANTIATE_TEST_SUITE_P(
    All, Families,
    testing::Values(std::tuple("bert", HeadKind::kClassification), std::tuple("bert", HeadKind::kRegression),
                    std::tuple("bert", HeadKind::kSpans), std::tuple("bert", HeadKind::kMaskedWords),
                    std::tuple("gpt2", HeadKind::kClassification), std::tuple("gpt2", HeadKind::kNextWord),
                    std::tuple("bart", HeadKind::kClassification), std::tuple("bart", HeadKind::kNextWord)),
    [](const auto& tested) {
      return std::get<0>(tested.param) + std::to_string(static_cast<int>(std::get<1>(tested.param)));
    });

TEST(Network, ABatchsLossIsTheMeanOfItsSequencesLosses) {
  TestModel made = test_model("bert", HeadKind::kClassification);
  const Parameters parameters = test_parameters(made.description);
  kernels::Context context(1);
  Network network(context, made.description, parameters, made.size, false);
  double sum = 0;
  for (Index s = 0; s < made.batch.tokens.sequences; ++s) {
    Batch one;
    one.tokens.sequences = 1, one.tokens.length = made.batch.tokens.length_of(s);
    const auto begin = made.batch.tokens.words.begin() + s * made.batch.tokens.length;
    const auto types = made.batch.tokens.types.begin() + s * made.batch.tokens.length;
    one.tokens.words.assign(begin, begin + one.tokens.length);
    one.tokens.types.assign(types, types + one.tokens.length);
    Labels label;
    label.classes = {made.labels.classes[static_cast<std::size_t>(s)]};
    sum += network.loss(one, label);
  }
  EXPECT_NEAR(network.loss(made.batch, made.labels), sum / 4, 1e-5);
}

TEST(Network, GreedyGenerationTakesTheMostLikelyWordOfAFullPass) {
  for (const std::string family : {"gpt2", "bart"}) {
    TestModel made = test_model(family, HeadKind::kNextWord, 4, false);
    const Parameters parameters = test_parameters(made.description);
    kernels::Context context(1);
    made.size = {4, 12, 10};
    Network network(context, made.description, parameters, made.size, false);
    Batch batch = made.batch;
    batch.tokens.length = 3;
    batch.tokens.words.resize(12);
    if (family == "bart") {
      batch.targets = {4, 1, {3, 3, 3, 3}, {}, {}, 0};
    }
    const auto made_words = network.generate(batch.tokens, {3}, /*end=*/-1, 6);
    Tokens& grown = family == "bart" ? batch.targets : batch.tokens;
    for (std::size_t step = 0; step < 6; ++step) {
      const std::vector<float> logits = network.logits(batch);
      std::vector<std::int32_t> longer;
      for (Index s = 0; s < 4; ++s) {
        const float* const row = logits.data() + ((s + 1) * grown.length - 1) * 29;
        const auto best = static_cast<std::int32_t>(std::max_element(row, row + 29) - row);
        ASSERT_EQ(made_words[static_cast<std::size_t>(s)].words.at(step), best) << family << " step " << step;
        double sum = 0;
        for (Index i = 0; i < 29; ++i) sum += std::exp(double{row[i]});
        EXPECT_NEAR(made_words[static_cast<std::size_t>(s)].log_probabilities.at(step), row[best] - std::log(sum),
                    1e-5);
        longer.insert(longer.end(), grown.words.begin() + s * grown.length,
                      grown.words.begin() + (s + 1) * grown.length);
        longer.push_back(best);
      }
      grown.words = longer, ++grown.length;
    }
  }
}

TEST(Network, WordsAndLabelsBeyondTheModelAreRefused) {
  TestModel made = test_model("bert", HeadKind::kClassification);
  const Parameters parameters = test_parameters(made.description);
  kernels::Context context(1);
  Network network(context, made.description, parameters, made.size, false);
  const auto code_of = [&](const Batch& batch, const Labels& labels) {
    try {
      network.loss(batch, labels);
    } catch (const base::InputError& error) {
      return error.diagnostics.at(0).code;
    }
    return std::string();
  };
  Batch batch = made.batch;
  batch.tokens.words[0] = 29;
  EXPECT_EQ(code_of(batch, made.labels), "O1641");
  batch = made.batch;
  batch.tokens.lengths[0] = 0;
  EXPECT_EQ(code_of(batch, made.labels), "O1641");
  Labels labels = made.labels;
  labels.classes[1] = 3;
  EXPECT_EQ(code_of(made.batch, labels), "O1642");
  labels.classes.pop_back();
  EXPECT_EQ(code_of(made.batch, labels), "O1642");
  made.description.head.tied = true;
  EXPECT_EQ(checked(made.description).all().at(0).code, "O1640");
}

TEST(Network, LayersThatCannotRunAndPositionsThatDoNotBeginAreRefused) {
  const auto codes_of = [](const Description& description) {
    std::vector<std::string> codes;
    const base::Diagnostics found = checked(description);
    for (const base::Diagnostic& said : found.all()) codes.push_back(said.code);
    return codes;
  };
  for (const char* const family : {"bert", "gpt2", "bart"}) {
    const Description good = test_model(family, HeadKind::kNone).description;
    EXPECT_TRUE(codes_of(good).empty()) << family;
    Description bad = good;
    bad.encoder.layer.heads = bad.width - 1;
    EXPECT_EQ(codes_of(bad), std::vector<std::string>{"O1504"}) << family;
    bad = good;
    bad.embedding.first_position = bad.embedding.positions;
    EXPECT_EQ(codes_of(bad), std::vector<std::string>{"O1640"}) << family;
  }
}

TEST(Network, NumbersAreCountedWithoutMakingThem) {
  for (const char* const family : {"bert", "gpt2", "bart"}) {
    const Description description = test_model(family, HeadKind::kNone).description;
    Parameters made(description);
    double matrices = 0;
    for (const Parameter& parameter : list(made, description))
      if (parameter.decays) matrices += static_cast<double>(parameter.values->size());
    EXPECT_EQ(matrix_numbers(description), matrices) << family;
  }
}

}  // namespace
}  // namespace orrery::network
