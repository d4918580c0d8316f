#include "orrery/describe/workload/transformer_facts.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/describe/workload/layers_ahead.h"
#include "orrery/describe/workload/transformer_operators.h"
#include "orrery/describe/workload/transformer_test_util.h"

namespace orrery::workload {
namespace {

using base::Count;

// 4096 x 6144 + 4096^2 + 3 x 4096 x 14336 weights, and two norms, in each of 32 layers.
TEST(TransformerFacts, TheBlocksOfLlama3HaveThePublishedParameters) {
  const Transformer model = llama3_8b();
  EXPECT_EQ(block_parameters(model.decoder().kinds.front(), 4096), 218112000);
  EXPECT_EQ(parameters(model).total, 32 * Count{218112000});
  EXPECT_EQ(cache_elements(model), 32 * 2 * 8 * 128);
}

TEST(TransformerFacts, TwiceTheLayersHaveTwiceTheParametersCachesAndOperations) {
  const Transformer once = deepseek_v3();
  Transformer twice = once;
  std::vector<int>& layers = twice.stacks.front().layers;
  layers.insert(layers.end(), once.decoder().layers.begin(), once.decoder().layers.end());
  EXPECT_EQ(parameters(twice).total, 2 * parameters(once).total);
  EXPECT_EQ(parameters(twice).active, 2 * parameters(once).active);
  EXPECT_EQ(cache_elements(twice), 2 * cache_elements(once));
  EXPECT_EQ(forward_flop(twice, 100).products, 2 * forward_flop(once, 100).products);
  EXPECT_EQ(forward_flop(twice, 100).visible_attention, 2 * forward_flop(once, 100).visible_attention);
}

TEST(TransformerFacts, LayersThatShareTheirWeightsHaveThemOnce) {
  Transformer model = bert_large();
  model.stacks.front().weight_sets = 1;
  EXPECT_EQ(24 * parameters(model).total, parameters(bert_large()).total);
  EXPECT_EQ(forward_flop(model, 64).products, forward_flop(bert_large(), 64).products) << "they run all the same";
}

TEST(TransformerFacts, OfLatentAttentionALatentAndOneKeyAreKept) {
  EXPECT_EQ(cache_elements(deepseek_v3()), 61 * (512 + 64));
}

TEST(TransformerFacts, TheParametersOfDeepSeekV3sBlocksAreThePapers) {
  Transformer model = deepseek_v3();
  model.vocab = model.head.outputs = 129280;
  model.embedding_width = 7168;
  model.head.tied = false;
  const Parameters counted = parameters(model);
  EXPECT_NEAR(static_cast<double>(counted.total), 671e9, 0.5e9);
  EXPECT_NEAR(static_cast<double>(counted.active), 37.5e9, 0.5e9) << "37 B, without the table of tokens";
  EXPECT_EQ(counted.embedding, counted.head);
}

TEST(TransformerFacts, PartsAddUpToTheTotal) {
  Transformer model = deepseek_v3();
  model.vocab = model.head.outputs = 1000;
  model.embedding_width = 7168;
  const Parameters counted = parameters(model);
  Count all = 0, active = 0;
  for (const Part& part : counted.parts) {
    EXPECT_GE(part.parameters, part.active) << part.name;
    all += part.parameters;
    active += part.active;
  }
  EXPECT_EQ(all, counted.total);
  EXPECT_EQ(active, counted.active);
  EXPECT_EQ(counted.head, 0) << "tied: the table of tokens is the embedding";
}

// A pair of tokens is seen or not; counted one by one.
double counted_pairs(const Attention& a, Count seq) {
  double pairs = 0;
  for (Count query = 0; query < seq; ++query)
    for (Count key = 0; key < seq; ++key) {
      const bool masked = a.causal && key > query;
      const Count apart = query > key ? query - key : key - query;
      const bool far = a.reach == Reach::kWindow && (a.causal ? apart >= a.span : apart > a.span / 2);
      const bool elsewhere = a.reach == Reach::kChunk && query / a.span != key / a.span;
      if (!masked && !far && !elsewhere) ++pairs;
    }
  return pairs;
}

TEST(TransformerFacts, VisibleTokensAreThePairsThatMasksWindowsAndChunksLeave) {
  EXPECT_TRUE(rc::check([] {
    Attention attention = heads_of(1, 1, 1);
    attention.causal = *rc::gen::arbitrary<bool>();
    attention.reach = *rc::gen::element(Reach::kAll, Reach::kWindow, Reach::kChunk);
    attention.span = *rc::gen::inRange<Count>(1, 60);
    const Count seq = *rc::gen::inRange<Count>(1, 50);
    const double seen = visible_tokens(attention, seq) * static_cast<double>(seq);
    RC_ASSERT(std::abs(seen - counted_pairs(attention, seq)) < 1e-6);
  }));
}

TEST(TransformerFacts, OnlyLayersThatSeeAllKeepGrowing) {
  Transformer model = llama3_8b();
  Block near = model.decoder().kinds.front();
  auto& attention = std::get<Attention>(near.mixer);
  attention.reach = Reach::kWindow;
  attention.span = 1024;
  model.stacks.front().kinds.push_back(near);
  for (std::size_t layer = 0; layer < 24; ++layer) model.stacks.front().layers[layer] = 1;
  EXPECT_EQ(cache_elements(model), cache_elements(llama3_8b()));
  EXPECT_EQ(cache_elements(model, true), cache_elements(llama3_8b()) / 4);
  EXPECT_EQ(shortest_reach(model), 1024);
}

TEST(TransformerFacts, CountsBeyond64BitsAreNoNumbers) {
  const Count huge = Count{1} << 40;
  const Transformer model = model_of(block_of(heads_of(1, 1, huge), {huge, true, false}), huge, 2);
  EXPECT_THROW(parameters(model), base::OverflowError);
}

// README_WEIGHTS of DeepSeek-V3: 11.5 B unique parameters ahead, 671 B besides.
TEST(TransformerFacts, AModuleAheadIsALayerAMatrixThreeNormsAndLogitsOnceMore) {
  const Transformer plain = deepseek_v3(), one = with_ahead(plain, 1), two = with_ahead(plain, 2);
  const Stack& stack = plain.decoder();
  const Count h = stack.width, layer = block_parameters(stack.kinds[static_cast<std::size_t>(stack.layers.back())], h);
  EXPECT_EQ(parameters(one).total - parameters(plain).total, layer + 2 * h * h + 3 * h);
  EXPECT_NEAR(static_cast<double>(layer + 2 * h * h + 3 * h), 11.5e9, 0.15e9);
  EXPECT_EQ(parameters(two).total - parameters(one).total, parameters(one).total - parameters(plain).total);
  EXPECT_EQ(cache_elements(one) * 61, cache_elements(plain) * 62);
  const auto flop = [](const Transformer& model) { return forward_flop(model, 512).products / 512; };
  EXPECT_EQ(flop(two) - flop(one), flop(one) - flop(plain));
  EXPECT_GT(flop(one) - flop(plain),
            2.0 * static_cast<double>(2 * h * h + plain.head.outputs * h));  // a matrix and logits, besides the layer
  EXPECT_EQ(with_ahead(plain, 0).decoder().layers.size(), stack.layers.size());
}

// What `map` runs with logits adds up to the same.
TEST(TransformerFacts, OperatorsOfAModuleAheadAreItsProducts) {
  const auto macs = [](const Transformer& model) {
    Count sum = 0;
    Phase phase;
    phase.tokens = 64;
    for (const BlockOperators& block : block_operators(model, phase))
      for (const Operator& op : block.operators)
        if (op.role == OperatorRole::kMatmul && op.name.find("expert") == std::string::npos)
          sum += block.layers * op.instances * op.einsum.operations();
    for (const Operator& op : products_around(model, phase).behind) sum += op.instances * op.einsum.operations();
    return sum;
  };
  const Transformer plain = llama3_8b();
  const double one = static_cast<double>(macs(with_ahead(plain, 1)) - macs(plain));
  const auto flop = [](const Transformer& model) {
    const ForwardFlop all = forward_flop(model, 64);
    return all.products + all.attention;
  };
  EXPECT_DOUBLE_EQ(2 * one, flop(with_ahead(plain, 1)) - flop(plain));
}

TEST(TransformerFacts, NothingIsKeptForTokensThatSeeTheWholeSequence) {
  EXPECT_EQ(cache_elements(bert_large()), 0);
}

}  // namespace
}  // namespace orrery::workload
