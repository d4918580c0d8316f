#include "orrery/engines/serving/model/kv_memory.h"

#include <gtest/gtest.h>

#include "orrery/engines/serving/model/serving_test_util.h"

namespace orrery::serving {
namespace {

using base::Count;

KvMemory memory(const ServedModel& model, Deployment d = {}) {
  return kv_memory(model, test_system(), completed(d));
}

// vLLM's get_batch_defaults: its server on cards, TPUs and processors.
TEST(StepLimits, OfVllmAreThoseOfItsPlatforms) {
  const auto limits = [](const char* name, double memory, Deployment d = {}) {
    machine::Accelerator on;
    on.name = name, on.memory_bytes = memory;
    d = completed(d, on);
    return std::pair(d.max_sequences, d.max_batched_tokens);
  };
  EXPECT_EQ(limits("H100-SXM5-80GB", 80.0 * (1 << 30)), std::pair(Count{1024}, Count{8192}));
  EXPECT_EQ(limits("A100-SXM4-80GB", 80.0 * (1 << 30)), std::pair(Count{256}, Count{2048}));
  EXPECT_EQ(limits("L40S", 48e9), std::pair(Count{256}, Count{2048}));
  EXPECT_EQ(limits("TPU-v6e", 32e9), std::pair(Count{256}, Count{1024}));
  EXPECT_EQ(limits("TPU-v5p", 95e9), std::pair(Count{256}, Count{256}));
  EXPECT_EQ(limits("TPU7x", 192e9), std::pair(Count{256}, Count{2048}));
  EXPECT_EQ(limits("EPYC-Zen5-2c", 64e9, {.tp = 2}), std::pair(Count{256}, Count{4096}));
  EXPECT_EQ(limits("TPU-v5p", 95e9, {.engine = Engine::kSglang}), std::pair(Count{2048}, Count{8192}));
}

TEST(KvMemory, IsWhatTheRulesOfEachEngineLeave) {
  const ServedModel model = test_model();
  for (const Engine engine : {Engine::kVllm, Engine::kTensorRtLlm, Engine::kSglang}) {
    Deployment d;
    d.engine = engine;
    const KvMemory m = memory(model, d);
    const double share = rules(engine).memory_share, rest = m.total - m.weights - m.activations - m.graphs;
    const double expected = engine == Engine::kVllm          ? share * m.total - m.weights - m.activations - m.graphs
                            : engine == Engine::kTensorRtLlm ? share * rest
                                                             : share * m.total - m.weights;
    EXPECT_DOUBLE_EQ(m.caches, expected);
    EXPECT_EQ(m.blocks, static_cast<base::Count>(m.caches / m.block_bytes) - 1);
    // 32 layers x 2 x 8 heads x 128 x 2 bytes.
    EXPECT_DOUBLE_EQ(m.block_bytes, 131072.0 * static_cast<double>(rules(engine).block_tokens));
    EXPECT_EQ(m.tokens(), m.blocks * rules(engine).block_tokens);
  }
}

TEST(KvMemory, HoldsTheWeightsOfWhatMakesTokensOfImages) {
  workload::Transformer both = workload::plain_transformer(test_sizes());
  both.towers = {both.stacks.front()};
  both.towers.front().name = "tower";
  const double layers = test_model().parameters - test_model().table - test_model().head;
  const ServedModel beside = served(both);
  EXPECT_NEAR(beside.tower, layers, 1e-3 * layers);
  EXPECT_NEAR(memory(beside).weights - memory(test_model()).weights, 2 * beside.tower, 1);
  EXPECT_NEAR(memory(beside, {.tp = 2}).weights - memory(test_model(), {.tp = 2}).weights, beside.tower, 1);
}

TEST(KvMemory, OfRanksBeyondKeyValueHeadsHoldsCopies) {
  const ServedModel model = test_model();
  EXPECT_DOUBLE_EQ(memory(model, {.tp = 2}).block_bytes, memory(model).block_bytes / 2);
  EXPECT_DOUBLE_EQ(memory(model, {.tp = 8}).block_bytes, memory(model).block_bytes / 8);
  EXPECT_DOUBLE_EQ(memory(model, {.tp = 16}).block_bytes, memory(model).block_bytes / 8);
}

TEST(KvMemory, InEightBitsHoldsTwiceTheTokens) {
  Deployment narrow;
  narrow.cache_precision = machine::Precision::kFp8;
  EXPECT_DOUBLE_EQ(memory(test_model(), narrow).block_bytes, memory(test_model()).block_bytes / 2);
}

TEST(KvMemory, OfLayersWithWindowsIsOnePoolOfGroups) {
  // Gemma 3 27B's: 52 of 62 layers see 1024 tokens. Groups of 10: one that keeps all tokens, six with windows.
  workload::PlainTransformer sizes = test_sizes();
  sizes.layers = 62;
  sizes.windowed_layers = 52;
  sizes.window = 1024;
  const KvMemory m = memory(test_model(sizes));
  ASSERT_EQ(m.groups.size(), 7U);
  EXPECT_DOUBLE_EQ(m.block_bytes, 10 * 4096.0 * 16);
  // A sequence of 10,000 tokens, in steps of 2048: 625 blocks, and of each window (1023 + 2048) / 16, and one.
  EXPECT_EQ(m.blocks_for(10000, 2048), 625 + 6 * (192 + 1));
  EXPECT_EQ(m.blocks_for(1000, 2048), 7 * 63);
  // Half of the layers each (gpt-oss): two groups of 18, as many as vLLM makes.
  sizes.layers = 36;
  sizes.windowed_layers = 18;
  sizes.window = 128;
  EXPECT_EQ(memory(test_model(sizes)).groups.size(), 2U);
}

// One reads, the others decode: filled one by one, as many have room as that says, and not one more.
TEST(KvMemory, HasRoomForWindowsThatAreWideWhileTheirPromptIsRead) {
  KvMemory m;
  m.block_tokens = 16;
  m.groups = {{1, 0, false}, {5, 1024, false}, {5, 1024, false}};
  for (const Count read : {Count{1}, Count{100}, Count{1000}, Count{8000}})
    for (const Count length : {Count{8000}, Count{9000}, Count{20000}})
      for (m.blocks = m.blocks_for(length, read); m.blocks < 9000; m.blocks += 97) {
        Count fit = 1, held = m.blocks_for(length, read);
        while (held + m.blocks_for(length, 1) <= m.blocks) held += m.blocks_for(length, 1), ++fit;
        EXPECT_EQ(static_cast<Count>(m.users(length, read)), fit) << read << " of " << length << ", " << m.blocks;
      }
  m.groups = {{1, 0, false}};
  EXPECT_DOUBLE_EQ(m.users(8000, 8000), static_cast<double>(m.blocks) / 500);
}

TEST(KvMemory, OfLatentsIsTheSameOnEveryRank) {
  workload::PlainTransformer sizes = test_sizes();
  sizes.layers = 8;
  sizes.kv_heads = 32;
  sizes.head_width = 192;
  sizes.latent = {.q_rank = 1536, .kv_rank = 512, .rope_width = 64, .nope_width = 128, .value_width = 128};
  const ServedModel model = test_model(sizes);
  const KvMemory one = memory(model), eight = memory(model, {.tp = 8});
  EXPECT_DOUBLE_EQ(one.block_bytes, 8 * 576 * 2.0 * 64);
  EXPECT_DOUBLE_EQ(eight.block_bytes, one.block_bytes);
}

TEST(KvMemory, OfStatesMakesBlocksAsLarge) {
  workload::Transformer t = workload::plain_transformer(test_sizes());
  workload::Stack& stack = t.stacks.front();
  workload::Block scan = stack.kinds.front();
  workload::Recurrence r;
  r.kind = workload::Recurrence::Kind::kMamba2;
  r.heads = 128;
  r.key_width = 128;
  r.value_width = 64;
  r.channels = 8192 + 2 * 128;
  r.taps = 4;
  scan.mixer = r;
  stack.kinds.push_back(scan);
  for (std::size_t i = 0; i < stack.layers.size(); ++i) stack.layers[i] = i % 4 == 0 ? 0 : 1;
  const KvMemory m = memory(served(t));
  // A state of (128 x 128 x 64 + 8448 x 3) x 2 bytes over 4096 bytes a token: 525 tokens, in steps of 16.
  EXPECT_EQ(m.block_tokens, 528);
  ASSERT_EQ(m.groups.size(), 4U);  // eight layers of attention, 24 with states
  EXPECT_EQ(m.blocks_for(5280, 5280), 10 + 3);
}

TEST(KvMemory, OfEntriesOfManyTokensIsWhatVllmPublishedOfDeepSeekV4Pro) {
  // 9.62 GiB for a sequence of 2^20 tokens with all in 16 bits, keys of the index too (vLLM's announcement of
  // 2026-04-24); what its code keeps of such a key is 132 bytes.
  double bytes = 0, keys = 0;
  for (const ServedLayers& kind : joined_model().kinds) {
    bytes += static_cast<double>(kind.layers) * kind.cached(1 << 20, 8, 2);
    if (kind.index_width > 0) keys += static_cast<double>(kind.layers * (1 << 20) / kind.compressed);
  }
  EXPECT_NEAR((bytes + keys * (2 * 128 - 132)) / (1 << 30), 9.62, 0.005);
}

TEST(KvMemory, OfEntriesOfManyTokensHasBlocksOf256) {
  const KvMemory m = memory(joined_model(), {.tp = 8});
  EXPECT_DOUBLE_EQ(m.block_bytes, 30 * 64 * (2.0 * 512 + 132) + 31 * 2 * 512 * 2.0);
  EXPECT_EQ(m.block_tokens, 256);
  // Windows of 61 layers have 1.6 times a block's bytes: two groups of blocks of 64 tokens.
  ASSERT_EQ(m.groups.size(), 3U);
  EXPECT_EQ(m.blocks_for(1 << 20, 1), 4096 + 2 * (2 + 1));
  EXPECT_EQ(m.blocks_for(100, 100), 1 + 2 * 2);
  EXPECT_DOUBLE_EQ(memory(joined_model()).block_bytes, m.block_bytes);
}

TEST(KvMemory, LacksWhatDoesNotFit) {
  workload::PlainTransformer large = test_sizes();
  large.layers = 320;
  const KvMemory m = memory(test_model(large));
  EXPECT_LT(m.caches, 0);
  EXPECT_EQ(m.blocks, 0);
  EXPECT_GT(memory(test_model(large), {.tp = 8}).blocks, 0);
  EXPECT_GT(memory(test_model(large), {.pp = 8}).blocks, 0);
}

}  // namespace
}  // namespace orrery::serving
