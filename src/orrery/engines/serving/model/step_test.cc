#include "orrery/engines/serving/model/step.h"

#include <gtest/gtest.h>

#include "orrery/describe/workload/layers_ahead.h"
#include "orrery/engines/serving/model/kv_memory.h"
#include "orrery/engines/serving/model/load.h"
#include "orrery/engines/serving/model/served_roofline.h"
#include "orrery/engines/serving/model/serving_test_util.h"

namespace orrery::serving {
namespace {

StepWork decoding(base::Count sequences, base::Count context) {
  StepWork out;
  for (base::Count i = 0; i < sequences; ++i) out.add_decode(context);
  return out;
}

StepWork prompt(base::Count tokens, base::Count context = 0) {
  StepWork out;
  out.add_prompt(tokens, context, true);
  return out;
}

class Step : public testing::Test {
 protected:
  StepModel model(Deployment d, const ServedModel& of) const { return {of, system_, completed(d), operators_}; }
  const cluster::System system_ = test_system();
  const ServedRoofline operators_{system_.accelerator};
  const ServedModel llama_ = test_model();
};

TEST_F(Step, IsTheSumOfItsParts) {
  StepWork copies = prompt(100, 8000);
  copies.load_seconds = 0.01;
  for (const StepWork& work : {decoding(1, 100), decoding(64, 4000), prompt(2048), prompt(1, 9000), copies}) {
    const StepCost c = model({}, llama_).cost(work);
    EXPECT_DOUBLE_EQ(c.seconds, c.products + c.attention + c.experts + c.communication + c.others + c.host + c.loading);
    EXPECT_DOUBLE_EQ(c.joules, 700 * c.seconds);
  }
}

TEST_F(Step, WaitsForCopiesOfTheHostsMemoryAsTheEngineBringsThem) {
  for (const double load : {1e-4, 3e-3, 0.1}) {
    StepWork work = prompt(500, 4000);
    const double at_once = model({.engine = Engine::kTensorRtLlm}, llama_).seconds(work);
    const StepCost beside = model({.engine = Engine::kSglang}, llama_).cost(work);
    work.load_seconds = load;
    // TensorRT-LLM's before all of it.
    EXPECT_DOUBLE_EQ(model({.engine = Engine::kTensorRtLlm}, llama_).seconds(work), at_once + load);
    // SGLang's of 32 layers, one after the other: a layer begins when its copies are there and the one before it ended.
    const double layer = (beside.seconds - beside.host) / 32;
    double done = 0;
    for (int l = 1; l <= 32; ++l) done = std::max(done, l * load / 32) + layer;
    EXPECT_NEAR(model({.engine = Engine::kSglang}, llama_).seconds(work), done + beside.host, 1e-12);
  }
}

TEST_F(Step, ReadsAllWeightsAndCachesOnce) {
  // 7.5e9 parameters of layers and logits and the table, 16 bits; 64 sequences of 1000 tokens, 128 KiB each.
  const StepCost c = model({}, llama_).cost(decoding(64, 1000));
  EXPECT_NEAR(c.bytes, 2 * llama_.parameters + 64 * 1000 * 131072.0, 1e-3 * c.bytes);
  // Not faster than the data sheet's bandwidth for what a step cannot do without: the table of tokens is not read.
  EXPECT_GT(c.seconds, (c.bytes - 2 * llama_.table) / 3.35e12);
  EXPECT_LT(c.seconds, 2 * c.bytes / 3.35e12);
}

TEST_F(Step, WithNarrowWeightsReadsThemAndComputesInSixteenBits) {
  ServedModel narrow = llama_;
  for (ServedLayers& kind : narrow.kinds)
    for (ServedMatrix& m : kind.matrices) m.stored = {0.5, machine::Precision::kBf16};
  const StepModel wide = model({}, llama_), few = model({}, narrow);
  const double ends = 2 * (llama_.table + llama_.head);
  EXPECT_NEAR(weight_bytes(narrow, completed({})), ends + (weight_bytes(llama_, completed({})) - ends) / 4, 1e6);
  // A decoding step is bound by reading them, the products of a long prompt are not.
  EXPECT_LT(few.cost(decoding(1, 100)).products, 0.5 * wide.cost(decoding(1, 100)).products);
  EXPECT_DOUBLE_EQ(few.cost(prompt(8192)).products, wide.cost(prompt(8192)).products);
  // As wide as what they are multiplied in, they are what a deployment's precision says.
  for (ServedLayers& kind : narrow.kinds)
    for (ServedMatrix& m : kind.matrices) m.stored = {1, machine::Precision::kFp8};
  const Deployment eight{.precision = machine::Precision::kFp8};
  EXPECT_EQ(model(eight, narrow).seconds(decoding(8, 100)), model(eight, llama_).seconds(decoding(8, 100)));
}

TEST_F(Step, NeverGetsFasterWithMoreToDo) {
  const ServedModel mixture = test_model(test_mixture());
  for (const ServedModel* of : {&llama_, &mixture})
    for (const base::Count tp : {1, 2, 8}) {
      const StepModel steps = model({.tp = tp}, *of);
      double before = 0;
      for (base::Count n = 1; n <= 512; n += n < 16 ? 1 : 31) {
        const double now = steps.seconds(decoding(n, 777));
        EXPECT_GE(now, before * (1 - 1e-9)) << n;
        before = now;
        EXPECT_GT(steps.seconds(decoding(n, 1777)), now);
      }
      EXPECT_GT(steps.seconds(prompt(512, 8192)), steps.seconds(prompt(512)));
    }
}

TEST_F(Step, OfAChunkedPromptTakesLongerThanOfAWhole) {
  const StepModel steps = model({}, llama_);
  EXPECT_GT(steps.seconds(prompt(1024)) + steps.seconds(prompt(1024, 1024)), steps.seconds(prompt(2048)));
  // Their scores are the same in number.
  EXPECT_DOUBLE_EQ(prompt(1024).prompt_pairs + prompt(1024, 1024).prompt_pairs, prompt(2048).prompt_pairs);
}

TEST_F(Step, WithoutGraphsWaitsForTheHost) {
  const double graphs = model({}, llama_).seconds(decoding(1, 100));
  Deployment eager;
  eager.graphs = false;
  EXPECT_GT(model(eager, llama_).seconds(decoding(1, 100)), graphs);
}

TEST_F(Step, IsFasterOnMoreRanksButPaysForThem) {
  const StepCost one = model({}, llama_).cost(decoding(32, 1000)),
                 four = model({.tp = 4}, llama_).cost(decoding(32, 1000));
  EXPECT_EQ(one.communication, 0);
  EXPECT_GT(four.communication, 0);
  EXPECT_LT(four.seconds, one.seconds);
  EXPECT_GT(four.joules, one.joules);
}

TEST_F(Step, OfExpertsSpreadOverRanksExchangesTokens) {
  const ServedModel mixture = test_model(test_mixture());
  const StepCost whole = model({.tp = 1, .ep = 8, .dp = 8}, mixture).cost(decoding(32, 1000));
  EXPECT_GT(whole.communication, 0);
  EXPECT_GT(whole.experts, 0);
  // Cut experts need every token on every rank, whole ones the two that it visits.
  EXPECT_GT(model({.tp = 1, .ep = 1, .dp = 8}, mixture).cost(decoding(256, 1000)).communication,
            2 * model({.tp = 1, .ep = 8, .dp = 8}, mixture).cost(decoding(256, 1000)).communication);
  Deployment even{.tp = 1, .ep = 8, .dp = 8};
  even.imbalance = 1;
  EXPECT_LE(model(even, mixture).cost(decoding(32, 1000)).experts, whole.experts);
}

TEST_F(Step, ModelsThatCannotBeDividedAreRefused) {
  const auto codes = [](const ServedModel& of, const Deployment& d) {
    base::Diagnostics found;
    check(of, d, found);
    return found.has_errors() ? found.all().front().code : std::string();
  };
  EXPECT_EQ(codes(llama_, {}), "");
  EXPECT_EQ(codes(llama_, {.tp = 16}), "");  // copies of key-value heads
  EXPECT_EQ(codes(llama_, {.tp = 3}), "O2072");
  EXPECT_EQ(codes(llama_, {.pp = 33}), "O2072");
  EXPECT_EQ(codes(llama_, {.dp = 2}), "O2072");
  EXPECT_EQ(codes(llama_, {.tp = 0}), "O2070");
  EXPECT_EQ(codes(test_model(test_mixture()), {.tp = 2, .ep = 4}), "O2070");
}

TEST(Served, RefusesWhatItCannotExpress) {
  workload::PlainTransformer encoder = test_sizes();
  encoder.causal = false;
  try {
    test_model(encoder);
    FAIL();
  } catch (const base::InputError& error) {
    EXPECT_EQ(error.diagnostics.front().code, "O2071");
  }
}

TEST(Served, HasAllParametersOnOneAccelerator) {
  for (const workload::PlainTransformer& sizes : {test_sizes(), test_mixture()}) {
    const ServedModel model = test_model(sizes);
    EXPECT_NEAR(weight_bytes(model, completed({})), 2 * model.parameters, 1e-6 * model.parameters);
  }
}

TEST_F(Step, ReadsPickedKeysAlone) {
  ServedModel all = llama_;
  for (ServedLayers& kind : all.kinds) kind.latent = 576, kind.latent_value = 512;
  ServedModel some = all, indexed = all;
  for (ServedLayers& kind : some.kinds) kind.picked = 2048;
  for (ServedLayers& kind : indexed.kinds) kind.picked = 2048, kind.index_heads = 64, kind.index_width = 128;
  const StepModel whole = model({}, all), few = model({}, some), with_index = model({}, indexed);
  EXPECT_EQ(few.seconds(decoding(8, 2000)), whole.seconds(decoding(8, 2000)));
  EXPECT_LT(few.seconds(decoding(8, 60000)), whole.seconds(decoding(8, 60000)));
  EXPECT_NEAR(few.seconds(decoding(8, 60000)), few.seconds(decoding(8, 2048)), 1e-12);
  EXPECT_GT(with_index.seconds(decoding(8, 60000)), few.seconds(decoding(8, 60000)));
  EXPECT_LT(with_index.seconds(decoding(8, 60000)), whole.seconds(decoding(8, 60000)));
  EXPECT_LE(few.seconds(prompt(8192, 90000)), whole.seconds(prompt(8192, 90000)));
}

TEST_F(Step, OfGuessesAreAsManyAsDrawnOnesTakeToTheEnd) {
  base::SplitMix random(7);
  for (const base::Count drafted : {1, 3, 7})
    for (const double acceptance : {0.0, 0.5, 0.8, 1.0}) {
      const Deployment d = {.drafted = drafted, .acceptance = acceptance};
      for (const int tokens : {1, 2, 5, 63, 64, 400}) {
        constexpr int kDrawn = 20000;
        double steps = 0;
        for (int i = 0; i < kDrawn; ++i)
          for (int made = 0; made < tokens; ++steps) {
            base::Count right = 0;
            while (right < drafted && uniform(random) < acceptance) ++right;
            made += static_cast<int>(right) + 1;
          }
        EXPECT_NEAR(d.steps_for(tokens), steps / kDrawn, 0.015 * steps / kDrawn)
            << drafted << " " << acceptance << " " << tokens;
      }
    }
  EXPECT_EQ(Deployment{}.steps_for(3.5), 3.5);
}

TEST_F(Step, ReadsGuessesBesideWhatIsKnown) {
  const StepModel plain = model({}, llama_), guessing = model({.drafted = 3, .acceptance = 0.5}, llama_);
  EXPECT_EQ(guessing.deployment().tokens_per_step(), 1.875);
  EXPECT_EQ(plain.deployment().tokens_per_step(), 1);
  // Weights are read once for all of them, and drafts are short.
  const double one = plain.seconds(decoding(4, 1000)), four = guessing.seconds(decoding(4, 1000));
  EXPECT_GT(four, one);
  EXPECT_LT(four, 1.875 * one);
  EXPECT_EQ(guessing.seconds(prompt(512)), plain.seconds(prompt(512)));
}

// A module that predicts ahead is loaded, caches every token, and reads prompts as the layers do.
TEST_F(Step, ModulesAheadAreLoadedAndReadPrompts) {
  workload::Transformer described = workload::plain_transformer(test_sizes());
  const ServedModel ahead = served(workload::with_ahead(described, 1));
  EXPECT_EQ(ahead.layers, llama_.layers);
  const Deployment guesses = {.drafted = 1, .acceptance = 0.8};
  const double h = 4096, layer = (8030261248.0 - 2 * 128256 * h - h) / 32;
  EXPECT_DOUBLE_EQ(weight_bytes(ahead, guesses) - weight_bytes(llama_, guesses), 2 * (layer + 2 * h * h + 3 * h));
  EXPECT_EQ(kv_memory(ahead, system_, guesses).groups.size(), kv_memory(llama_, system_, guesses).groups.size());
  const StepModel by_layer = model(guesses, llama_), by_module = model(guesses, ahead);
  const StepModel alone = model({}, llama_);
  EXPECT_GT(by_module.seconds(prompt(512)), by_layer.seconds(prompt(512)));
  EXPECT_NEAR(by_module.seconds(prompt(8192)) / alone.seconds(prompt(8192)), 33.0 / 32, 0.02);
  // A matrix more than a plain layer, read for the known token and the guess.
  EXPECT_GT(by_module.seconds(decoding(4, 1000)), by_layer.seconds(decoding(4, 1000)));
  EXPECT_LT(by_module.seconds(decoding(4, 1000)), 1.05 * by_layer.seconds(decoding(4, 1000)));
}

TEST_F(Step, OfEntriesOfManyTokensReadsThoseThatAreScoredOrSeen) {
  const StepModel steps = model({.tp = 8}, joined_model());
  const base::Count long_one = 1 << 20;
  const StepCost c = steps.cost(decoding(1, long_one)), half = steps.cost(decoding(1, long_one / 2));
  // Twice as many keys of the index of 30 layers, and twice as many entries of the others; what is picked is as much.
  EXPECT_DOUBLE_EQ(c.bytes - half.bytes, (long_one / 2) * (30 * 132 / 4.0 + 2.0 * 31 * 512 / 128.0));
  const StepCost none = steps.cost(decoding(1, 1));
  EXPECT_NEAR(c.bytes - none.bytes,
              30 * (132.0 * long_one / 4 + 2 * 512 * (1024 + 128)) + 2.0 * 31 * 512 * (long_one / 128.0 + 128),
              2.0 * 61 * 512 * 2);
  // The same layers without entries read every token.
  ServedModel plain = joined_model();
  for (ServedLayers& kind : plain.kinds)
    kind.compressed = 1, kind.span = 0, kind.picked = kind.index_heads = kind.index_width = 0;
  const StepModel whole = model({.tp = 8}, plain);
  for (const StepWork& work : {decoding(1, long_one), prompt(8192, 100000)})
    EXPECT_LT(steps.cost(work).attention, 0.3 * whole.cost(work).attention);
}

}  // namespace
}  // namespace orrery::serving
