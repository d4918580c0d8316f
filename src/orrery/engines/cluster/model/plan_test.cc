#include "orrery/engines/cluster/model/plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <set>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/engines/cluster/model/random_plan_test_util.h"

namespace orrery::cluster {
namespace {

Training good() {
  Training run{gpt(96, 12288, 96), a100(1600), {}};
  run.plan.gpus = 128;
  run.plan.tp = run.plan.pp = 8;
  run.plan.dp = 2;
  run.plan.global_batch = 64;
  return run;
}

std::set<std::string> codes(const Training& run) {
  base::Diagnostics found;
  check(run.model, run.system, run.plan, found);
  const base::Codes all = base::codes(found.all());
  return {all.begin(), all.end()};
}

struct Mistake {
  const char* code;
  std::function<void(Training&)> make;
};

const std::vector<Mistake>& mistakes() {
  static const std::vector<Mistake> all = {
      {"O1300", [](Training& r) { r.model.layers = 0; }},
      {"O1301", [](Training& r) { r.plan.tp = -8; }},
      {"O1302", [](Training& r) { r.model.kv_heads = 7; }},
      {"O1303", [](Training& r) { r.model.experts = {.count = 8, .top_k = 9, .ffn = 128}; }},
      {"O1304", [](Training& r) { r.system.accelerator.memory_bytes_per_s = 0; }},
      {"O1305", [](Training& r) { r.plan.dp = 4; }},
      {"O1306", [](Training& r) { r.system.max_gpus = 64; }},
      {"O1306", [](Training& r) { r.system.fabric.levels[r.system.fabric.count - 1].size = 2; }},
      {"O1307", [](Training& r) { r.plan.global_batch = 63; }},
      {"O1307", [](Training& r) { r.plan.micro_batch = 33; }},
      {"O1913", [](Training& r) { r.plan.shard = 2; }},
      {"O1913", [](Training& r) { r.plan.zero = 1, r.plan.shard = 3; }},
      {"O1914", [](Training& r) { r.plan.offload_optimizer = 0.5; }},
      {"O1914", [](Training& r) { r.plan.offload_activations = 1; }},
      {"O1915", [](Training& r) { r.plan.expert_tp = 2; }},
      {"O1308", [](Training& r) { r.plan.tp = 64, r.plan.pp = 1; }},
      {"O1309", [](Training& r) { r.model.ffn = 4 * 12288 + 1; }},
      {"O1302", [](Training& r) { r.model.latent.kv_rank = 512; }},
      {"O1310", [](Training& r) { r.plan.interleave = 13; }},
      {"O1311", [](Training& r) { r.plan.interleave = 2, r.plan.global_batch = 2 * 9; }},
      {"O1981", [](Training& r) { r.plan.schedule = Schedule::kDualPipe, r.plan.global_batch = 2 * 14; }},
      {"O1981", [](Training& r) { r.plan.schedule = Schedule::kDualPipe, r.plan.global_batch = 2 * 17; }},
      {"O1312", [](Training& r) { r.plan.schedule = Schedule::kZeroBubble, r.plan.global_batch = 2 * 7; }},
      {"O1313", [](Training& r) { r.plan.sequence_parallel = true, r.model.seq = 2044; }},
      {"O1314", [](Training& r) { r.plan.ep = 2; }},
      {"O1315", [](Training& r) { r.plan.zero = 4; }},
      {"O1316", [](Training& r) { r.plan.precision = machine::Precision::kFp8; }},
      {"O1316", [](Training& r) { r.plan.precision = machine::Precision::kMxfp8; }},
      {"O1316", [](Training& r) { r.plan.precision = machine::Precision::kNvfp4; }},
      {"O1317", [](Training& r) { r.plan.overlap.dp = 1.5; }},
      {"O1319",
       [](Training& r) {
         r.model.seq = r.plan.micro_batch = base::Count{1} << 24, r.plan.global_batch = base::Count{1} << 24;
       }},
      {"O1318", [](Training& r) { r.system.fabric.levels[1].bytes_per_s = 0; }},
  };
  return all;
}

TEST(Plan, AGoodOneIsPossible) {
  EXPECT_EQ(codes(good()), std::set<std::string>{});
  EXPECT_TRUE(possible(good().model, good().system, good().plan));
}

TEST(Plan, Llama3sEightChunksOnSixteenStagesArePossible) {
  Training run{gpt(128, 16384, 126), a100(1600), {}};
  run.plan.gpus = 128;
  run.plan.tp = 8;
  run.plan.pp = 16;
  run.plan.interleave = 8;
  run.plan.global_batch = 16;
  EXPECT_EQ(codes(run), std::set<std::string>{});
  run.plan.interleave = 9;
  EXPECT_EQ(codes(run), std::set<std::string>{"O1310"});
  run.plan.interleave = 8;
  run.model = gpt(128, 16384, 125);
  EXPECT_EQ(codes(run), std::set<std::string>{"O1310"}) << "three chunks would hold no layer";
}

// Nine microbatches over eight stages.
TEST(Plan, InterleavedTurnsAreThoseOfTheSoftware) {
  Training run = good();
  run.plan.interleave = 2, run.plan.global_batch = 2 * 9;
  EXPECT_EQ(codes(run), std::set<std::string>{"O1311"});
  EXPECT_EQ(microbatch_group(run.plan), 0);
  run.plan.stack.name = StackName::kMegatronCore;
  EXPECT_EQ(codes(run), std::set<std::string>{});
  EXPECT_EQ(microbatch_group(run.plan), 9) << "none over";
  run.plan.global_batch = 2 * 18;
  EXPECT_EQ(microbatch_group(run.plan), 9) << "twice";
  run.plan.global_batch = 2 * 27;
  EXPECT_EQ(microbatch_group(run.plan), 9);
  run.plan.global_batch = 2 * 25;
  EXPECT_EQ(microbatch_group(run.plan), 13) << "and twelve more, at least as many as there are stages";
  run.plan.global_batch = 2 * 7;
  EXPECT_EQ(codes(run), std::set<std::string>{"O1311"}) << "fewer than stages";
  run.plan.stack.name = StackName::kPytorchFsdp;
  EXPECT_EQ(microbatch_group(run.plan), 7) << "one round";
  run.plan.global_batch = 2 * 18;
  EXPECT_EQ(microbatch_group(run.plan), 9) << "two rounds";
  run.plan.global_batch = 2 * 17;
  EXPECT_EQ(codes(run), std::set<std::string>{"O1311"}) << "two rounds of 8 leave one over";
}

TEST(Plan, DualPipeHoldsEveryStageTwice) {
  Training run = good();
  run.plan.schedule = Schedule::kDualPipe;
  EXPECT_EQ(codes(run), std::set<std::string>{});
  EXPECT_EQ(held_stages(run.plan), 2);
  EXPECT_EQ(replicas(run.plan), 2 * run.plan.dp * run.plan.cp);
}

TEST(Plan, ChunksOfUnequalSizeArePossible) {
  Training run = good();
  run.plan.interleave = 5;  // of 12 layers
  EXPECT_EQ(codes(run), std::set<std::string>{});
}

TEST(Plan, TheLastMicrobatchCanBeSmaller) {
  Training run = good();
  run.plan.micro_batch = 3;  // 32 sequences a replica
  EXPECT_EQ(codes(run), std::set<std::string>{});
  EXPECT_EQ(microbatches(run.plan), 11);
  EXPECT_DOUBLE_EQ(whole_microbatches(run.plan), 32 / 3.0);
}

// As Qwen3-235B was trained: experts over tp x dp.
TEST(Plan, ExpertsFoldOverTensorAndDataRanks) {
  Training run{gpt(64, 4096, 94), a100(1600), {}};
  run.model.experts = {.count = 128, .top_k = 8, .ffn = 1536};
  run.plan = {.gpus = 256, .global_batch = 2048, .tp = 2, .pp = 8, .dp = 16, .ep = 32};
  EXPECT_EQ(codes(run), std::set<std::string>{});
  EXPECT_EQ(expert_tp(run.plan), 1);
  EXPECT_EQ(expert_replicas(run.plan), 1);
  run.plan.expert_tp = 2;
  EXPECT_EQ(codes(run), std::set<std::string>{"O1314"});
}

TEST(Plan, AnIncompleteLatentIsNotBlamedOnTheHeads) {
  Training run = good();
  run.model.latent.kv_rank = 512;
  base::Diagnostics found;
  check(run.model, run.system, run.plan, found);
  ASSERT_EQ(found.all().size(), 1u);
  EXPECT_NE(found.all()[0].message.find("nope_width 0, value_width 0"), std::string::npos) << found.all()[0].message;
}

TEST(Plan, EveryMistakeHasItsCodeAndIsNotPossible) {
  for (const Mistake& mistake : mistakes()) {
    Training run = good();
    mistake.make(run);
    EXPECT_EQ(codes(run), std::set<std::string>{mistake.code});
    EXPECT_FALSE(possible(run.model, run.system, run.plan)) << mistake.code;
  }
}

TEST(Plan, AllMistakesAreToldAtOnceWithTheirArithmetic) {
  Training run = good();
  run.plan.dp = 3;
  run.plan.zero = 7;
  base::Diagnostics found;
  check(run.model, run.system, run.plan, found);
  ASSERT_EQ(found.all().size(), 3u);  // 64 is not a multiple of 3 either
  EXPECT_EQ(found.all()[0].code, "O1305");
  EXPECT_EQ(found.all()[0].message, "the degrees multiply to 192 accelerators, not 128");
  EXPECT_EQ(found.all()[0].notes, std::vector<std::string>{"tp 8 x pp 8 x cp 1 x dp 3 = 192"});
  EXPECT_EQ(found.all()[0].hints, std::vector<std::string>{"use dp = 2"});
  EXPECT_EQ(found.all()[1].code, "O1307");
  EXPECT_EQ(found.all()[1].hints, std::vector<std::string>{"the next possible batch is 66"});
  EXPECT_EQ(found.all()[2].code, "O1315");
}

TEST(Plan, NumbersWhoseProductsOverflowAreMistakesNotCrashes) {
  Training run = good();
  run.plan.tp = run.plan.pp = run.plan.dp = base::Count{1} << 62;
  EXPECT_EQ(codes(run), std::set<std::string>{"O1301"});
  run = good();
  run.plan.tp = run.plan.pp = run.plan.dp = run.plan.cp = base::Count{1} << 24;
  EXPECT_TRUE(codes(run).contains("O1305"));
}

RC_GTEST_PROP(Plan, PossibleIsWhatCheckFindsNothingIn, (Training run)) {
  const int count = *rc::gen::inRange(0, 3);
  for (int i = 0; i < count; ++i) mistakes()[*rc::gen::inRange<std::size_t>(0, mistakes().size())].make(run);
  RC_ASSERT(possible(run.model, run.system, run.plan) == codes(run).empty());
}

}  // namespace
}  // namespace orrery::cluster
