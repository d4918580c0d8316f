#include "orrery/describe/workload/transformer_operators.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/describe/workload/transformer_facts.h"
#include "orrery/describe/workload/transformer_test_util.h"

namespace orrery::workload {
namespace {

using base::Codes, base::Count;

Count bound(const Operator& op, const char* dimension) {
  return op.einsum.dimensions[static_cast<std::size_t>(op.einsum.dimension_index(dimension))].bound;
}

const Operator& named(const std::vector<Operator>& block, const std::string& name) {
  const auto found = std::find_if(block.begin(), block.end(), [&](const Operator& op) { return op.name == name; });
  if (found == block.end()) throw std::out_of_range(name);
  return *found;
}

std::vector<Operator> one_block(const Transformer& model, const Phase& phase) {
  return block_operators(model, phase).front().operators;
}

struct Shape {
  const char* name;
  Count e, d, l, instances;
};

void expect_shapes(const std::vector<Operator>& block, const std::vector<Shape>& shapes) {
  ASSERT_EQ(block.size(), shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    SCOPED_TRACE(shapes[i].name);
    EXPECT_EQ(block[i].name, shapes[i].name);
    EXPECT_EQ(block[i].einsum.name, shapes[i].name);
    EXPECT_EQ(bound(block[i], "E"), shapes[i].e);
    EXPECT_EQ(bound(block[i], "D"), shapes[i].d);
    EXPECT_EQ(bound(block[i], "L"), shapes[i].l);
    EXPECT_EQ(block[i].instances, shapes[i].instances);
  }
}

TEST(TransformerBlock, BertLargeAt4096HasTheShapesOfTimeloopExperiments) {
  expect_shapes(one_block(bert_large(), {1, 4096, 0}), {{"KQV", 1024, 3072, 4096, 1},
                                                        {"KTQ", 64, 4096, 4096, 16},
                                                        {"softmax", 4096, 2, 4096, 16},
                                                        {"VScores", 4096, 64, 4096, 16},
                                                        {"Out", 1024, 1024, 4096, 1},
                                                        {"layernorm", 1024, 3, 4096, 2},
                                                        {"FF1", 1024, 4096, 4096, 1},
                                                        {"FF2", 4096, 1024, 4096, 1}});
}

TEST(TransformerBlock, Llama3NarrowsKeysAndValuesDoublesFf1AndSweepsTwice) {
  expect_shapes(one_block(llama3_8b(), {2, 128, 0}), {{"KQV", 4096, 6144, 256, 1},
                                                      {"KTQ", 128, 128, 512, 16},
                                                      {"softmax", 128, 2, 512, 16},
                                                      {"VScores", 128, 128, 512, 16},
                                                      {"Out", 4096, 4096, 256, 1},
                                                      {"layernorm", 4096, 2, 256, 2},
                                                      {"FF1", 4096, 28672, 256, 1},
                                                      {"FF2", 14336, 4096, 256, 1}});
}

TEST(TransformerBlock, HeadsThatShareKeysMayStandApart) {
  const std::vector<Operator> block = one_block(llama3_8b(), {2, 128, 0, true});
  expect_shapes({block.begin() + 1, block.begin() + 4},
                {{"KTQ", 128, 128, 128, 64}, {"softmax", 128, 2, 128, 64}, {"VScores", 128, 128, 128, 64}});
}

TEST(TransformerBlock, OnlySoftmaxAndLayernormAreNormalisations) {
  for (const Operator& op : one_block(bert_large(), {1, 64, 0}))
    EXPECT_EQ(op.role == OperatorRole::kNormalisation, op.name == "softmax" || op.name == "layernorm") << op.name;
}

TEST(Decoding, TheQueriesOfAGroupAreColumnsOfOneProductOnTheCache) {
  const std::vector<Operator> block = one_block(llama3_8b(), {3, 1, 1000});
  expect_shapes({block.begin(), block.begin() + 5}, {{"KQV", 4096, 6144, 3, 1},
                                                     {"KTQ", 128, 1001, 4, 24},
                                                     {"softmax", 1001, 2, 4, 24},
                                                     {"VScores", 1001, 128, 4, 24},
                                                     {"Out", 4096, 4096, 3, 1}});
}

// DeepSeek-V2, section 2.1.2: what expands keys goes into the queries, what expands values into the outputs, and all
// heads read the same latents.
TEST(Decoding, LatentAttentionIsAbsorbed) {
  const std::vector<Operator> block = one_block(deepseek_v3(), {2, 1, 4095});
  expect_shapes({block.begin(), block.begin() + 9}, {{"Q-down", 7168, 1536, 2, 1},
                                                     {"Q-up", 1536, 24576, 2, 1},
                                                     {"KV-down", 7168, 576, 2, 1},
                                                     {"Q-absorb", 128, 512, 2, 128},
                                                     {"KTQ", 576, 4096, 128, 2},
                                                     {"softmax", 4096, 2, 128, 2},
                                                     {"VScores", 4096, 512, 128, 2},
                                                     {"V-expand", 512, 128, 2, 128},
                                                     {"Out", 16384, 7168, 2, 1}});
}

TEST(Prefill, LatentAttentionIsExpanded) {
  const std::vector<Operator> block = one_block(deepseek_v3(), {1, 64, 0});
  expect_shapes({block.begin() + 3, block.begin() + 8}, {{"KV-up", 512, 32768, 64, 1},
                                                         {"KTQ", 192, 64, 64, 128},
                                                         {"softmax", 64, 2, 64, 128},
                                                         {"VScores", 64, 128, 64, 128},
                                                         {"Out", 16384, 7168, 64, 1}});
}

Transformer windowed(Reach reach, Count span, bool causal = true) {
  Attention attention = heads_of(4, 2, 16);
  attention.reach = reach;
  attention.span = span;
  attention.causal = causal;
  Transformer model = model_of(block_of(attention, {96, true, false}), 64, 3);
  model.stacks.front().causal = causal;
  return model;
}

TEST(Prefill, OfAWindowOnlyTheBlocksThatItTouchesAreComputed) {
  const std::vector<Operator> block = one_block(windowed(Reach::kWindow, 128), {1, 1000, 0});
  expect_shapes({named(block, "window-first-KTQ"), named(block, "window-KTQ"), named(block, "window-last-KTQ")},
                {{"window-first-KTQ", 16, 128, 2 * 128, 2},  // two heads share keys
                 {"window-KTQ", 16, 256, 2 * 128, 2 * 6},    // a block's own keys, and those of the block before
                 {"window-last-KTQ", 16, 232, 2 * 104, 2}});
  const std::vector<Operator> chunks = one_block(windowed(Reach::kChunk, 128), {1, 1000, 0});
  expect_shapes({named(chunks, "chunk-KTQ"), named(chunks, "chunk-last-KTQ")},
                {{"chunk-KTQ", 16, 128, 2 * 128, 2 * 7}, {"chunk-last-KTQ", 16, 104, 2 * 104, 2}});
}

TEST(Phases, AWindowAsLongAsTheSequenceChangesNothing) {
  for (const Reach reach : {Reach::kWindow, Reach::kChunk})
    for (const Phase& phase : {Phase{2, 300, 0}, Phase{2, 1, 299}, Phase{2, 4, 296}}) {
      const Transformer full = windowed(Reach::kAll, 0), near = windowed(reach, 300);
      EXPECT_EQ(operations(one_block(near, phase)), operations(one_block(full, phase)));
      EXPECT_EQ(forward_flop(near, 300).visible_attention, forward_flop(full, 300).visible_attention);
    }
}

// Whatever the lengths, blocks cost no less than the pairs that are visible and no more than all.
TEST(Prefill, OfAWindowAtLeastTheVisiblePairsAreComputedAndAtMostAll) {
  EXPECT_TRUE(rc::check([] {
    const Reach reach = *rc::gen::element(Reach::kWindow, Reach::kChunk);
    const bool causal = *rc::gen::arbitrary<bool>();
    const Count span = *rc::gen::inRange<Count>(1, 200), tokens = *rc::gen::inRange<Count>(1, 500);
    const Transformer near = windowed(reach, span, causal), full = windowed(Reach::kAll, 0, causal);
    const Phase phase = {1, tokens, 0};
    const auto& attention = std::get<Attention>(near.decoder().kinds.front().mixer);
    Count pairs = 0;
    for (const Operator& op : one_block(near, phase))
      if (op.name.ends_with("KTQ")) pairs += op.instances * bound(op, "D") * bound(op, "L") / 4;
    const double visible = visible_tokens(attention, tokens) * static_cast<double>(tokens);
    RC_ASSERT(static_cast<double>(pairs) >= visible - 1e-6);
    RC_ASSERT(operations(one_block(near, phase)) <= operations(one_block(full, phase)));
  }));
}

TEST(Decoding, OfAChunkOnlyItsOwnTokensAreRead) {
  const Transformer model = windowed(Reach::kChunk, 128);
  EXPECT_EQ(bound(named(one_block(model, {1, 1, 256}), "chunk-KTQ"), "D"), 1) << "a chunk begins";
  EXPECT_EQ(bound(named(one_block(model, {1, 1, 300}), "chunk-KTQ"), "D"), 300 - 256 + 1);
}

TEST(Decoding, AWindowBoundsWhatIsRead) {
  const std::vector<Operator> block = one_block(windowed(Reach::kWindow, 128), {1, 1, 5000});
  EXPECT_EQ(bound(named(block, "window-KTQ"), "D"), 128);
  EXPECT_EQ(bound(named(one_block(windowed(Reach::kWindow, 128), {1, 4, 5000}), "window-KTQ"), "D"), 131)
      << "the last of four sees three tokens that the first does not, and misses as many";
}

// Every model that the laws below are asked of.
Transformer any_model() {
  const Count kv_heads = *rc::gen::inRange<Count>(1, 9);
  Attention attention = heads_of(kv_heads * *rc::gen::inRange<Count>(1, 9), kv_heads, *rc::gen::inRange<Count>(1, 200));
  const FeedForward feed_forward = {*rc::gen::inRange<Count>(1, 20000), *rc::gen::arbitrary<bool>(), false};
  const NormKind norm = *rc::gen::arbitrary<bool>() ? NormKind::kRms : NormKind::kLayer;
  return model_of(block_of(attention, feed_forward, norm), *rc::gen::inRange<Count>(1, 5000),
                  *rc::gen::inRange(1, 100));
}

const Block& block_of_any(const Transformer& model) {
  return model.decoder().kinds.front();
}

TEST(TransformerBlock, OperationsEqualTheClosedFormula) {
  EXPECT_TRUE(rc::check([] {
    const Transformer model = any_model();
    const auto& a = std::get<Attention>(block_of_any(model).mixer);
    const auto& f = std::get<FeedForward>(block_of_any(model).feed_forward);
    const Count hidden = model.decoder().width;
    const Count batch = *rc::gen::inRange<Count>(1, 17);
    const Count seq = *rc::gen::inRange<Count>(1, 9000);
    const Count l = batch * seq;
    const Count scores = a.heads * batch * seq * seq;
    const Count matmuls = l * hidden * (a.heads + 2 * a.kv_heads) * a.width + 2 * scores * a.width +
                          l * a.heads * a.width * hidden + (f.gated ? 3 : 2) * l * hidden * f.inner;
    const Count sweeps = 2 * scores + 2 * (block_of_any(model).norm.kind == NormKind::kRms ? 2 : 3) * l * hidden;
    RC_ASSERT(operations(one_block(model, {batch, seq, 0})) == matmuls + sweeps);
  }));
}

TEST(TransformerBlock, ABatchOfBDoesBTimesTheOperations) {
  EXPECT_TRUE(rc::check([] {
    const Transformer model = any_model();
    const Count batch = *rc::gen::inRange<Count>(1, 17);
    const Count seq = *rc::gen::inRange<Count>(1, 3000);
    const Count cached = *rc::gen::element<Count>(0, 1, 77, 3000);
    RC_ASSERT(operations(one_block(model, {batch, seq, cached})) ==
              batch * operations(one_block(model, {1, seq, cached})));
  }));
}

Count products(const std::vector<Operator>& block) {
  Count sum = 0;
  for (const Operator& op : block)
    if (op.role == OperatorRole::kMatmul) sum += op.instances * op.einsum.operations();
  return sum;
}

// Token t + 1 meets t + 1 keys: one by one, decoding does what a causal mask leaves of prefill.
TEST(Phases, DecodingTokenByTokenDoesTheProductsThatAMaskLeavesOfPrefill) {
  EXPECT_TRUE(rc::check([] {
    const Transformer model = any_model();
    const Count tokens = *rc::gen::inRange<Count>(2, 40);
    Count one_by_one = products(one_block(model, {1, 1, 0}));
    for (Count cached = 1; cached < tokens; ++cached) one_by_one += products(one_block(model, {1, 1, cached}));
    const auto& a = std::get<Attention>(block_of_any(model).mixer);
    const Count masked = 2 * a.heads * a.width * (tokens * tokens - tokens * (tokens + 1) / 2);
    RC_ASSERT(one_by_one == products(one_block(model, {1, tokens, 0})) - masked);
    const ForwardFlop flop = forward_flop(model, tokens);
    RC_ASSERT(2 * static_cast<double>(one_by_one) * static_cast<double>(model.decoder().layers.size()) ==
              flop.products + flop.visible_attention);
  }));
}

// A model whose layers are of four kinds, and what it does must not depend on how the kinds are told apart.
TEST(ModelOperators, HaveTheOperationsOfAllBlocksTogether) {
  Transformer model = deepseek_v3();
  Attention near = heads_of(8, 4, 64);
  near.reach = Reach::kWindow;
  near.span = 100;
  Stack& stack = model.stacks.front();
  stack.kinds.push_back(block_of(near, {18432, true, false}));
  stack.kinds.push_back(block_of(heads_of(8, 4, 64), {777, true, false}));
  stack.layers[0] = 2;
  stack.layers[1] = 3;
  for (const Phase& phase : {Phase{1, 512, 0}, Phase{3, 1, 700}, Phase{2, 5, 30}}) {
    Count sum = 0;
    for (const BlockOperators& block : block_operators(model, phase)) sum += block.layers * operations(block.operators);
    const ModelOperators whole = model_operators(model, phase);
    EXPECT_EQ(operations(whole.operators), sum);
    EXPECT_EQ(whole.layers, 1);
    std::vector<std::string> names;
    for (const Operator& op : whole.operators) names.push_back(op.name);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << "a name says which operator is meant";
  }
  EXPECT_EQ(model_operators(llama3_8b(), {1, 64, 0}).layers, 32) << "equal layers are one, and told how many";
}

TEST(ModelOperators, OfPrefillAreTheProductsOfTheForwardPass) {
  for (const Transformer& model : {bert_large(), llama3_8b()}) {
    const ModelOperators whole = model_operators(model, {1, 640, 0});
    const ForwardFlop flop = forward_flop(model, 640);
    EXPECT_EQ(2.0 * static_cast<double>(products(whole.operators) * whole.layers), flop.products + flop.attention)
        << model.name;
  }
}

TEST(Mixtures, EveryVisitIsDoneByOneOfTheExpertsThatAreVisited) {
  const std::vector<Operator> few = block_operators(deepseek_v3(), {1, 4, 0}).back().operators;
  EXPECT_EQ(named(few, "expert-FF1").instances, 32) << "four tokens visit eight each";
  EXPECT_EQ(bound(named(few, "expert-FF1"), "L"), 1);
  const std::vector<Operator> many = block_operators(deepseek_v3(), {1, 4096, 0}).back().operators;
  EXPECT_EQ(named(many, "expert-FF1").instances, 256);
  EXPECT_EQ(bound(named(many, "expert-FF1"), "L"), 4096 * 8 / 256);
  EXPECT_EQ(bound(named(many, "router"), "D"), 256);
  EXPECT_EQ(named(many, "shared-FF1").instances, 1);
}

// What needs no expert is done once, the rest by 1 / n of the width n times over: the same products.
TEST(Mixtures, OfWhichATokenVisitsAllDoTheWorkOfADenseNetworkOfTheirWidth) {
  const Attention attention = heads_of(4, 4, 16);
  Experts experts;
  experts.count = experts.top_k = 6;
  experts.expert = {50, true, false};
  Block mixture = block_of(attention, {});
  mixture.feed_forward = experts;
  const Transformer sparse = model_of(mixture, 64, 2);
  const Transformer dense = model_of(block_of(attention, {300, true, false}), 64, 2);
  const double router = 2.0 * 128 * 64 * 6 * 2;
  EXPECT_EQ(forward_flop(sparse, 128).products - router, forward_flop(dense, 128).products);
  EXPECT_EQ(parameters(sparse).total - 2 * 64 * 6, parameters(dense).total);
  EXPECT_EQ(parameters(sparse).active, parameters(sparse).total);
  EXPECT_EQ(products(one_block(sparse, {1, 128, 0})) - 128 * 64 * 6, products(one_block(dense, {1, 128, 0})));
}

TEST(TransformerBlock, FewerKeyValueHeadsNarrowKqvAndShareTheCore) {
  Transformer grouped = bert_large();
  std::get<Attention>(grouped.stacks.front().kinds.front().mixer).kv_heads = 4;
  const auto plain = one_block(bert_large(), {1, 256, 0});
  const auto narrow = one_block(grouped, {1, 256, 0});
  EXPECT_EQ(bound(named(narrow, "KQV"), "D"), (16 + 2 * 4) * 64);
  for (const Operator& op : plain) {
    if (op.name == "KQV") continue;
    const Count sharing = op.part == CorePart::kNone ? 1 : 4;
    EXPECT_EQ(named(narrow, op.name).einsum.operations(), sharing * op.einsum.operations()) << op.name;
    EXPECT_EQ(sharing * named(narrow, op.name).instances, op.instances) << op.name;
  }
}

Transformer encoder_and_decoder() {
  Attention own = heads_of(8, 8, 64), back = own;
  back.causal = false;
  Block reads = block_of(back, {2048, false, false}), writes = block_of(own, {2048, false, false});
  writes.cross = back;
  writes.norms = 3;
  Transformer model = model_of(reads, 512, 6, "two stacks");
  model.stacks.front().name = "encoder";
  model.stacks.front().causal = false;
  model.stacks.push_back(model_of(writes, 512, 6).stacks.front());
  return model;
}

TEST(Decoding, AnEncoderRunsWithTheFirstTokensOnly) {
  const Transformer model = encoder_and_decoder();
  EXPECT_EQ(block_operators(model, {1, 100, 0}).size(), 2u);
  const std::vector<BlockOperators> later = block_operators(model, {1, 1, 100});
  ASSERT_EQ(later.size(), 1u);
  EXPECT_EQ(later.front().name, "decoder");
  const std::vector<Operator>& block = later.front().operators;
  EXPECT_THROW(named(block, "cross-KV"), std::out_of_range) << "keys and values of the source were kept";
  EXPECT_EQ(bound(named(block, "cross-KTQ"), "D"), 100);
}

TEST(Decoding, WhereTokensSeeThoseAfterThemThereIsNoCache) {
  EXPECT_EQ(base::codes_of([] { block_operators(bert_large(), {1, 1, 64}); }), Codes{"O0923"});
}

TEST(ModelOperators, NameWhatNoProductExpresses) {
  Recurrence scan;
  scan.projections = {{"in", 64, 256}, {"out", 128, 64}};
  scan.heads = 128;
  scan.key_width = 16;
  scan.value_width = 1;
  Block block;
  block.mixer = scan;
  block.norm = {NormKind::kRms, true, false};
  block.norms = 1;
  const ModelOperators whole = model_operators(model_of(block, 64, 3), {1, 32, 0});
  ASSERT_EQ(whole.left_out.size(), 1u);
  EXPECT_NE(whole.left_out.front().find("scans"), std::string::npos);
  expect_shapes(whole.operators, {{"in", 64, 256, 32, 1}, {"out", 128, 64, 32, 1}, {"layernorm", 64, 2, 32, 1}});
}

TEST(ModelOperators, AreWithLogitsOfAllLayersAndTheLogits) {
  Transformer model = model_of(block_of(heads_of(4, 4, 16), {128, false, false}), 64, 3);
  model.head.outputs = model.vocab = 1000;
  const ModelOperators blocks = model_operators(model, {2, 32, 0}), whole = model_operators(model, {2, 32, 0}, true);
  EXPECT_EQ(blocks.layers, 3);
  EXPECT_EQ(whole.layers, 1);
  ASSERT_EQ(blocks.around.size(), 1u);
  EXPECT_TRUE(whole.around.empty());
  EXPECT_EQ(whole.operators.back().name, "logits");
  EXPECT_EQ(operations(whole.operators), 3 * operations(blocks.operators) + 1000 * 64 * 2 * 32);
  EXPECT_EQ(operations(blocks.around), 1000 * 64 * 2 * 32);
  // A token after a cache has logits of its own only.
  EXPECT_EQ(operations({model_operators(model, {2, 1, 31}, true).operators.back()}), 1000 * 64 * 2);
}

TEST(ModelOperators, NameProductsAroundTheLayers) {
  Transformer model = model_of(block_of(heads_of(4, 4, 16), {128, false, false}), 64, 3);
  model.stacks.front().into = {Projection{"table to layers", 16, 64}};
  model.stacks.front().out_of = {Projection{"layers to table", 64, 16}};
  model.head.transform = {Projection{"head transform", 16, 16}};
  model.head.outputs = 1000;
  const ProductsAround around = products_around(model, {1, 8, 0});
  expect_shapes(around.before, {{"table to layers", 16, 64, 8, 1}});
  expect_shapes(around.behind,
                {{"layers to table", 64, 16, 8, 1}, {"head transform", 16, 16, 8, 1}, {"logits", 16, 1000, 8, 1}});
}

Codes codes(const Transformer& model, const Phase& phase) {
  return base::codes_of([&] { block_operators(model, phase); });
}

TEST(Phases, EverythingWrongIsReportedAtOnce) {
  EXPECT_EQ(codes(bert_large(), {0, -1, 0}), (Codes{"O0913", "O0913"}));
  EXPECT_EQ(codes(llama3_8b(), {1, 1, -1}), Codes{"O0913"});
  EXPECT_EQ(codes(llama3_8b(), {0, 0, -1}), (Codes{"O0913", "O0913", "O0913"}));
}

TEST(TransformerBlock, ProductsBeyond64BitsAreNamed) {
  EXPECT_EQ(codes(bert_large(), {1, Count{1} << 40, 0}), (Codes{"O0914", "O0914", "O0914"}));
  EXPECT_EQ(codes(bert_large(), {Count{1} << 40, Count{1} << 40, 0}).front(), "O0914");
  const Transformer wide = model_of(block_of(heads_of(1, 1, 1), {Count{1} << 61, true, false}), 1024, 1);
  EXPECT_THROW(block_operators(wide, {1, 1, 0}), base::InputError);
}

}  // namespace
}  // namespace orrery::workload
