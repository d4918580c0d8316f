#include "orrery/runtime/network/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "orrery/runtime/network/network_test_util.h"

namespace orrery::network {
namespace {

TestModel small(HeadKind kind, const std::string& family = "bert") {
  TestModel made = test_model(family, kind);
  made.description.dropout = {{0.1, 0.1, 0.1, 0.1}, 0.1, 0.1};
  return made;
}

// Sentences of two classes: words of the lower or the upper half of the vocabulary, some of them of the other half.
std::vector<Example> sentences(std::size_t count, Index words, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Example> out;
  const auto half = static_cast<unsigned>(words - 2) / 2;
  for (std::size_t i = 0; i < count; ++i) {
    Example example;
    example.label = static_cast<std::int32_t>(random() % 2);
    example.words.push_back(0);
    const unsigned length = 6 + random() % 10;
    for (unsigned w = 0; w < length; ++w) {
      const unsigned side =
          random() % 10 < 2 ? 1 - static_cast<unsigned>(example.label) : static_cast<unsigned>(example.label);
      example.words.push_back(static_cast<std::int32_t>(2 + side * half + random() % half));
    }
    out.push_back(example);
  }
  return out;
}

double accuracy_of(Network& network, const std::vector<Example>& examples, const Description& description) {
  double right = 0;
  for (std::size_t at = 0; at < examples.size(); at += 50) {
    std::vector<std::size_t> chosen;
    for (std::size_t i = at; i < std::min(examples.size(), at + 50); ++i) chosen.push_back(i);
    const LabelledBatch batch = batch_of(examples, chosen, description, {}, 0);
    const std::vector<float> logits = network.logits(batch.batch);
    for (std::size_t i = 0; i < chosen.size(); ++i)
      right += (logits[2 * i + 1] > logits[2 * i]) == (examples[chosen[i]].label == 1);
  }
  return right / static_cast<double>(examples.size());
}

TEST(Trainer, TwoClassesOfTwoThousandSentencesAreLearned) {
  Description d;
  d.width = 32;
  d.embedding = {202, 20, 2, 0, 1, true};
  d.encoder.layer.width = 32, d.encoder.layer.heads = 4, d.encoder.layer.hidden = 64;
  d.encoder.layers = 2;
  d.dropout = {{0.1, 0.1, 0, 0.1}, 0.1, 0.1};
  d.head = {HeadKind::kClassification, Pick::kFirst, 2, true, false, Squash::kTanh};
  const std::vector<Example> all = sentences(2000, 202, 11), held = sentences(500, 202, 12);
  Parameters parameters(d);
  initialise(parameters, d, 1);
  kernels::Context context(2);
  TrainingPlan plan;
  plan.batch = 32, plan.optimiser.rate = 2e-3;
  plan.steps = steps_of(plan, all.size(), 3), plan.warmup = plan.steps / 10;
  Trainer trainer(context, d, parameters, all, {}, plan);
  while (!trainer.done()) trainer.step();
  Network network(context, d, parameters, {50, 17, 1}, false);
  EXPECT_GE(accuracy_of(network, held, d), 0.95) << "the best rule, counting words, reaches about 0.99";
}

// 7 batches an epoch, 3 a step: steps end behind batches 0, 3 and 6 of each, and the second epoch's first has what the
// first one left over.
TEST(Trainer, StepsBehindTheFirstBatchOfAnEpochAndThenEverySoMany) {
  TrainingPlan plan;
  plan.batch = 2, plan.accumulate = 3, plan.first_at_once = true;
  EXPECT_EQ(steps_of(plan, 13, 2), 6);
  EXPECT_EQ(steps_of(plan, 13, 1.5), 5);
  const std::int64_t ends[] = {1, 4, 7, 8, 11, 14};
  for (std::int64_t step = 0; step < 6; ++step) {
    EXPECT_EQ(batches_of(plan, 13, step).begin, step == 0 ? 0 : ends[step - 1]);
    EXPECT_EQ(batches_of(plan, 13, step).end, ends[step]);
  }
  plan.accumulate = 4;  // an epoch of 7 has 0 and 4; 5 and 6 are left over
  EXPECT_EQ(batches_of(plan, 13, 2).begin, 5);
  EXPECT_EQ(batches_of(plan, 13, 2).end, 8);
  plan.first_at_once = false;
  EXPECT_EQ(batches_of(plan, 13, 2).begin, 8);
  EXPECT_EQ(steps_of(plan, 13, 2), 4);
}

TEST(Trainer, ResumedTrainingGivesTheSameBits) {
  for (const HeadKind kind : {HeadKind::kClassification, HeadKind::kMaskedWords}) {
    const TestModel made = small(kind);
    std::vector<Example> examples = sentences(23, 29, 3);
    for (Example& example : examples) example.words.resize(std::min<std::size_t>(example.words.size(), 12));
    TrainingPlan plan;
    plan.batch = 4, plan.accumulate = 2, plan.steps = 8, plan.warmup = 2;
    BatchRules rules;
    rules.mask = 1, rules.special = {0};
    kernels::Context context(2);
    Parameters whole = test_parameters(made.description), halves = whole;
    Trainer at_once(context, made.description, whole, examples, rules, plan);
    while (!at_once.done()) at_once.step();
    AdamWState stored;
    {
      Trainer first(context, made.description, halves, examples, rules, plan);
      for (int i = 0; i < 3; ++i) first.step();
      stored = first.state();
    }
    Trainer second(context, made.description, halves, examples, rules, plan);
    second.resume(stored);
    while (!second.done()) second.step();
    const auto a = list(whole, made.description), b = list(halves, made.description);
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(*a[i].values, *b[i].values) << a[i].name;
  }
}

TEST(Trainer, AccumulatedBatchesAreOneLargeBatchWhereAllHaveAsManyLabels) {
  TestModel made = test_model("bert", HeadKind::kClassification);
  made.description.dropout = {};
  std::vector<Example> examples = sentences(8, 29, 3);
  for (Example& example : examples) example.words.resize(7, 3);
  TrainingPlan large, split;
  large.batch = 8, split.batch = 4, split.accumulate = 2;
  large.steps = split.steps = 1;
  large.clip = split.clip = 0;
  kernels::Context context(1);
  Parameters a = test_parameters(made.description), b = a;
  const StepReport one = Trainer(context, made.description, a, examples, {}, large).step();
  const StepReport two = Trainer(context, made.description, b, examples, {}, split).step();
  EXPECT_NEAR(one.loss, two.loss, 1e-5);
  EXPECT_NEAR(one.norm, two.norm, 1e-4 * one.norm);
}

TEST(Examples, EveryEpochTakesEachOnceInAnOrderOfItsOwn) {
  std::vector<std::size_t> first, second;
  for (std::int64_t step = 0; step < 14; ++step)
    for (const std::size_t i : chosen_examples(20, 3, step, 5)) (step < 7 ? first : second).push_back(i);
  EXPECT_NE(first, second);
  EXPECT_EQ(std::set<std::size_t>(first.begin(), first.end()).size(), 20U);
  std::sort(first.begin(), first.end()), std::sort(second.begin(), second.end());
  EXPECT_EQ(first, second);
}

TEST(Examples, AnEighthAndMoreOfTheWordsIsMaskedAndSpecialOnesNever) {
  TestModel made = test_model("bert", HeadKind::kMaskedWords);
  made.description.embedding.words = 1000;
  std::vector<Example> examples(50);
  for (Example& example : examples) {
    example.words.assign(400, 7);
    example.words[0] = 0;
  }
  BatchRules rules;
  rules.mask = 1, rules.special = {0};
  std::vector<std::size_t> chosen(50);
  for (std::size_t i = 0; i < 50; ++i) chosen[i] = i;
  const LabelledBatch made_batch = batch_of(examples, chosen, made.description, rules, 9);
  double labelled = 0, masked = 0, kept = 0;
  for (std::size_t i = 0; i < made_batch.labels.words.size(); ++i) {
    const std::int32_t word = made_batch.batch.tokens.words[i];
    if (i % 400 == 0) {
      EXPECT_EQ(word, 0);
    }
    if (made_batch.labels.words[i] == kNoLabel) continue;
    ASSERT_EQ(made_batch.labels.words[i], 7);
    ++labelled, masked += word == 1, kept += word == 7;
  }
  // 20,000 words: deviations of 0.0025, 0.007 and 0.005.
  EXPECT_NEAR(labelled / 19950, 0.15, 0.01);
  EXPECT_NEAR(masked / labelled, 0.8, 0.03);
  EXPECT_NEAR(kept / labelled, 0.1, 0.02);
}

TEST(Examples, ADecoderReadsItsWordsOnePlaceLater) {
  const TestModel made = test_model("bart", HeadKind::kNextWord);
  std::vector<Example> examples(2);
  examples[0].words = {5, 6, 7}, examples[1].words = {8};
  BatchRules rules;
  rules.pad = 1, rules.decoder_begin = 2;
  const LabelledBatch batch = batch_of(examples, {0, 1}, made.description, rules, 0);
  EXPECT_EQ(batch.batch.targets.words, (std::vector<std::int32_t>{2, 5, 6, 2, 8, 1}));
  EXPECT_EQ(batch.labels.words, (std::vector<std::int32_t>{5, 6, 7, 8, kNoLabel, kNoLabel}));
}

}  // namespace
}  // namespace orrery::network
