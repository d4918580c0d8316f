#include "orrery/verbs/train/run.h"

#include <cmath>

#include <gtest/gtest.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/engines/cluster/model/memory.h"
#include "orrery/engines/cluster/pipeline/schedule.h"
#include "orrery/verbs/train/plans/open_degrees.h"

namespace orrery::verbs {
namespace {

TrainRequest gpt3(base::Count gpus) {
  TrainRequest request;
  request.model = "gpt3-175b";
  request.system = "a100-selene";
  request.gpus = gpus;
  request.global_batch = 1536;
  request.recompute = cluster::Recompute::kFull;
  return request;
}

base::Codes codes(const TrainRequest& request) {
  return base::codes_of([&] { train(request); });
}

TEST(Train, ItsTermsSumToTheIteration) {
  const TrainedModel trained = train(gpt3(1024));
  EXPECT_NEAR(trained.iteration.breakdown.sum(), trained.iteration.iteration_s, 1e-12 * trained.iteration.iteration_s);
  EXPECT_TRUE(trained.iteration.fits);
}

// Where operators are searched or measured one by one, on a chip or on this machine.
TEST(Train, SmallestDegreesAreThoseOfTheFewestAcceleratorsThatFit) {
  const TrainedModel trained = train(gpt3(1024));
  cluster::Plan plan;
  plan.gpus = 1024, plan.global_batch = 1536, plan.recompute = cluster::Recompute::kFull;
  GivenDegrees given;
  given.gpus = true;
  const ChosenDegrees chosen = choose_degrees(trained.model, trained.system, plan, given);
  EXPECT_TRUE(chosen.fits);
  const base::Count replica = chosen.plan.tp * chosen.plan.pp * chosen.plan.cp;
  for (base::Count tp = 1; tp <= 96; ++tp)
    for (base::Count pp = 1; tp * pp < replica; ++pp) {
      cluster::Plan smaller = chosen.plan;
      smaller.tp = tp, smaller.pp = pp, smaller.cp = 1, smaller.dp = 1024 / (tp * pp);
      if (tp > trained.system.node_size || !cluster::possible(trained.model, trained.system, smaller)) continue;
      EXPECT_GT(cluster::memory(trained.model, smaller).total(), trained.system.accelerator.memory_bytes)
          << "tp " << tp << " pp " << pp;
    }
  for (const int threads : {2, 5}) {
    const ChosenDegrees same = choose_degrees(trained.model, trained.system, plan, given, {}, threads);
    EXPECT_EQ(same.plan.tp, chosen.plan.tp);
    EXPECT_EQ(same.plan.pp, chosen.plan.pp);
    EXPECT_EQ(same.tried, chosen.tried);
  }
}

TEST(Train, DegreesThatWereGivenStay) {
  TrainRequest request = gpt3(1024);
  request.pp = 32;
  const TrainedModel trained = train(request);
  EXPECT_EQ(trained.plan.pp, 32);
  EXPECT_EQ(trained.plan.tp * trained.plan.pp * trained.plan.dp * trained.plan.cp, 1024);
  request.overrides = {{"plan.tp", "4"}};
  EXPECT_EQ(train(request).plan.tp, 4);
}

TEST(Train, WithoutAcceleratorsAskedForItTakesTheFewest) {
  TrainRequest request = gpt3(1);
  request.gpus.reset();
  const TrainedModel trained = train(request);
  EXPECT_TRUE(trained.iteration.fits);
  EXPECT_EQ(trained.plan.dp, 1);
  EXPECT_EQ(trained.plan.gpus, trained.plan.tp * trained.plan.pp * trained.plan.cp);
}

TEST(Train, ThreadsChooseTheSameDegrees) {
  for (const char* model : {"gpt3-175b", "mixtral-8x7b"}) {
    TrainRequest request = gpt3(512);
    request.model = model;
    request.limits.threads = 1;
    const TrainedModel one = train(request);
    for (const int threads : {2, 5}) {
      request.limits.threads = threads;
      const TrainedModel several = train(request);
      EXPECT_EQ(several.iteration.iteration_s, one.iteration.iteration_s);
      EXPECT_EQ(several.choices, one.choices);
      EXPECT_EQ(several.plan.tp, one.plan.tp);
      EXPECT_EQ(several.plan.pp, one.plan.pp);
    }
  }
}

TEST(Train, AStateSpaceModelSplitsByItsHeads) {
  TrainRequest request = gpt3(64);
  request.model = "mamba2-2.7b";
  request.seq = 4096;
  const TrainedModel trained = train(request);
  EXPECT_TRUE(trained.iteration.fits);
  EXPECT_GT(trained.iteration.done.mfu, 0.02);
  EXPECT_LT(trained.iteration.done.mfu, 1);
  request.tp = 3;
  request.gpus = 48;
  EXPECT_EQ(codes(request), (base::Codes{"O1309", "O1372"}));
}

TEST(Train, WhatLacksMemoryIsAnAnswerThatNamesTheLargestTerm) {
  TrainRequest request = gpt3(8);
  request.global_batch = 8;
  request.tp = 8, request.pp = request.dp = 1;
  const TrainedModel trained = train(request);
  EXPECT_FALSE(trained.iteration.fits);
  EXPECT_NEAR(trained.iteration.excess_bytes,
              trained.iteration.memory.total() - trained.system.accelerator.memory_bytes, 1);
  const base::Diagnostic why = explain_no_fit(trained);
  EXPECT_EQ(why.code, "O1373");
  EXPECT_EQ(why.notes.at(0), "the largest term: optimiser");
}

TEST(Train, OverridesReachModelSystemAndPlan) {
  TrainRequest request = gpt3(64);
  request.overrides = {{"model.hidden", "3072"},  {"model.heads", "32"},           {"model.layers", "30"},
                       {"system.node_size", "4"}, {"system.networks.0.size", "4"}, {"plan.overlap.dp", "0.5"}};
  const TrainedModel trained = train(request);
  EXPECT_EQ(trained.description.sizes.ffn, 4 * 3072);
  EXPECT_EQ(trained.description.sizes.head_width, 96);
  EXPECT_EQ(trained.model.kinds.at(0).inner, 4 * 3072);
  EXPECT_EQ(trained.model.kinds.at(0).cores.at(0).width, 96);
  EXPECT_EQ(trained.system.node_size, 4);
  EXPECT_EQ(trained.plan.overlap.dp, 0.5);
}

TEST(Train, TheScheduleThatIsSetIsTheOption) {
  for (const auto& [name, schedule] : cluster::schedules()) {
    TrainRequest option = gpt3(64), set = gpt3(64);
    option.tp = option.pp = set.tp = set.pp = 8;
    option.schedule = schedule;
    set.overrides = {{"plan.schedule", name}};
    const TrainedModel one = train(option), other = train(set);
    EXPECT_EQ(one.plan.schedule, other.plan.schedule) << name;
    EXPECT_EQ(one.plan.interleave, other.plan.interleave) << name;
    EXPECT_EQ(one.iteration.iteration_s, other.iteration.iteration_s) << name;
    EXPECT_EQ(one.defaulted, other.defaulted) << name;
    set.schedule = schedule;
    EXPECT_EQ(train(set).plan.schedule, one.plan.schedule) << name;  // the same twice
    const bool interleaved = schedule == cluster::PipelineChoice::kInterleaved;
    set.schedule = interleaved ? cluster::PipelineChoice::kGpipe : cluster::PipelineChoice::kInterleaved;
    EXPECT_EQ(codes(set), (base::Codes{"O1103"})) << name;
  }
  TrainRequest request = gpt3(64);
  request.overrides = {{"plan.interleave", "1"}, {"plan.schedule", "interleaved"}};
  EXPECT_EQ(codes(request), (base::Codes{"O1378"}));
  request.overrides = {{"plan.schedule", "1f2b"}};
  EXPECT_EQ(codes(request), (base::Codes{"O1371"}));
}

TEST(Train, AllThatIsMissingIsSaidAtOnce) {
  EXPECT_EQ(codes({}), (base::Codes{"O1370", "O1370", "O1370"}));
  TrainRequest request = gpt3(1009);
  request.tp = 7;
  EXPECT_EQ(codes(request), (base::Codes{"O1308", "O1309", "O1372"}));
  request = gpt3(64);
  request.overrides = {{"modle.layers", "3"}};
  EXPECT_EQ(codes(request), (base::Codes{"O1371"}));
  request.overrides = {{"plan.zero", "-1"}, {"plan.tp", "1e3"}, {"plan.overlap.tp", "nan"}};
  EXPECT_EQ(codes(request), (base::Codes{"O1371", "O1371", "O1371"}));
}

TEST(Train, TheTracedPipelineAndItsEndMakeTheIteration) {
  TrainRequest request = gpt3(1024);
  request.tp = 8, request.pp = 8, request.dp = 16;
  const TrainedModel trained = train(request);
  const double end = cluster::makespan(cluster::simulate(trained.iteration, trained.plan));
  EXPECT_NEAR(end + trained.iteration.drain_s, trained.iteration.iteration_s, 0.02 * trained.iteration.iteration_s);
}

TEST(Train, FlashAttentionAtLongSequencesStaysBelowThePeak) {
  TrainRequest request = gpt3(8);
  request.global_batch = request.dp = 8;
  request.tp = request.pp = request.cp = 1;
  request.seq = 131072;
  request.zero = 3;
  request.attention = cluster::Attention::kFlash;
  request.overrides = {
      {"model.layers", "24"}, {"model.hidden", "2048"}, {"model.heads", "16"}, {"plan.overlap.dp", "1"}};
  const cluster::Iteration iteration = train(request).iteration;
  EXPECT_LT(iteration.done.hfu, 0.844) << "what an endless product reaches";
  EXPECT_GT(iteration.published.hfu, 1.3 * iteration.done.hfu) << "which counted as done what the mask hides";
}

TrainRequest llama3(const std::string& system) {
  TrainRequest request;
  request.model = "llama3-8b", request.system = system;
  request.gpus = 64, request.dp = 64, request.global_batch = 128;
  request.tp = request.pp = request.cp = 1;
  return request;
}

TEST(Train, TheSoftwareIsTheSystemsUnlessThePlanNeedsAnotherOrOneIsNamed) {
  TrainRequest request = llama3("dgx-h100");
  EXPECT_EQ(train(request).plan.stack.name, cluster::StackName::kMegatronCore);
  EXPECT_EQ(train(request).plan.overlap.dp, 1) << "what the software overlaps";
  request.zero = 3;
  EXPECT_EQ(train(request).plan.stack.name, cluster::StackName::kPytorchFsdp) << "Megatron shards no weights";
  request.stack = "megatron-2021";
  EXPECT_EQ(train(request).plan.stack.name, cluster::StackName::kMegatron2021);
  EXPECT_EQ(train(request).plan.overlap.dp, 0);
  request.overrides = {{"plan.stack.traffic", "3"}};
  EXPECT_GT(train(request).iteration.iteration_s, train(llama3("dgx-h100")).iteration.iteration_s);
  EXPECT_EQ(train(llama3("tpu-v5p")).plan.stack.name, cluster::StackName::kXla);
  request.stack = "megatron-2012";
  EXPECT_EQ(codes(request), (base::Codes{"O1910"}));
}

TEST(Train, OverlapIsWhatIsAskedForAndNeedsSomethingToOverlap) {
  TrainRequest request = llama3("dgx-h100");
  request.overlap.emplace();
  const TrainedModel exposed = train(request);
  EXPECT_EQ(exposed.iteration.hidden.dp, 0);
  request.overlap->push_back("dp");
  EXPECT_LT(train(request).iteration.iteration_s, exposed.iteration.iteration_s);
  request.overlap->push_back("tp");  // tp is 1
  EXPECT_EQ(base::codes(train(request).warnings.all()), (base::Codes{"O1912"}));
  request.overlap = std::vector<std::string>{"tp"};
  EXPECT_EQ(base::codes(train(request).warnings.all()), (base::Codes{"O1912"})) << "whatever its degree";
}

TEST(Train, EveryPredictionCarriesTheErrorOfItsKindOrAWiderOne) {
  const std::optional<ExpectedError> known = train(llama3("dgx-h100")).expected_error;
  ASSERT_TRUE(known);
  EXPECT_GT(known->percent, 1);
  EXPECT_LT(known->percent, 20);
  EXPECT_GE(known->runs, kLeastRuns);
  TrainRequest four_bits = llama3("b200-nvl72");
  four_bits.precision = machine::Precision::kNvfp4;
  const std::optional<ExpectedError> narrow = train(four_bits).expected_error;
  ASSERT_TRUE(narrow);
  four_bits.model = "mixtral-8x7b", four_bits.ep = 8;
  const std::optional<ExpectedError> mixture = train(four_bits).expected_error;
  ASSERT_TRUE(mixture) << "no mixture in four bits was measured";
  EXPECT_GT(mixture->percent, narrow->percent);
}

TEST(Train, TheErrorIsWidenedFarFromWhatWasMeasuredAndWhyIsSaid) {
  const double usual = train(llama3("dgx-h100")).expected_error->percent;
  const auto why = [usual](const TrainRequest& request) {
    const TrainedModel trained = train(request);
    EXPECT_TRUE(trained.expected_error && trained.expected_error->percent > usual);
    return trained.expected_error_of.substr(trained.expected_error_of.find(": ") + 2);
  };
  TrainRequest request = llama3("dgx-h100");
  request.seq = 1;
  EXPECT_TRUE(why(request).starts_with("no measured run is near: 1 token a sequence")) << why(request);
  request = llama3("dgx-h100");
  request.overrides = {{"plan.stack.traffic", "1.5"}};
  EXPECT_EQ(why(request), "no run with another `plan.stack.traffic` was measured");
  request.overrides = {{"plan.stack.attention_kernel", "cudnn"}};
  EXPECT_TRUE(train(request).expected_error) << "it is what the software has anyway";
  request.stack = "torchtitan";
  request.overrides = {{"plan.stack.eager", "true"}};
  EXPECT_EQ(why(request), "no run with another `plan.stack.eager` was measured");
  EXPECT_EQ(train(request).plan.stack.logit_bytes, 8.5) << "as PyTorch's FSDP: its own loss is compiled";
  request.stack = "pytorch-fsdp";
  EXPECT_NE(train(request).expected_error_of.find("pytorch-fsdp on H100 in 16 bits"), std::string::npos);
  EXPECT_EQ(train(request).expected_error_of.find("eager"), std::string::npos) << "it was measured both ways";
  request = llama3("dgx-h100");
  request.overrides = {{"system.accelerator.memory_bandwidth", "5TB/s"}};
  EXPECT_EQ(why(request), "no run with another `system.accelerator.memory_bandwidth` was measured");
  request.overrides = {{"plan.lora_rank", "16"}};
  EXPECT_EQ(why(request), "no run that trains adapters was measured");
  request.overrides = {{"system.accelerator.memory", "141GB"}, {"system.accelerator.price", "2 USD/h"}};
  EXPECT_TRUE(train(request).expected_error) << "neither changes a time";
  request.overrides = {{"system.networks.1.bandwidth", "5Gbit/s"}};
  EXPECT_EQ(why(request), "no run with another `system.networks.1.bandwidth` was measured");
  request.overrides = {{"system.networks.1.bandwidth", "300Gbit/s"}};
  EXPECT_TRUE(train(request).expected_error) << "400 Gbit/s were measured";
  request = llama3("dgx-h100");
  request.pp = 2, request.dp = 32;
  request.overrides = {{"plan.schedule", "dualpipe"}};
  EXPECT_EQ(why(request), "its software does not run this plan");
  request = llama3("mi300x");
  EXPECT_TRUE(why(request).starts_with("no runs like this one were measured")) << why(request);
}

TEST(Train, WhatPapersCountAndNobodyComputesIsNamed) {
  TrainRequest request = llama3("dgx-h100");
  EXPECT_EQ(counted_undone(train(request)), (base::Codes{"attention that a causal mask hides"}));
  request.overrides = {{"plan.lora_rank", "16"}, {"model.window", "128"}, {"model.windowed_layers", "32"}};
  EXPECT_EQ(counted_undone(train(request)),
            (base::Codes{"attention that a causal mask hides", "attention outside of windows",
                         "gradients of frozen matrices"}));
  request.overrides = {{"model.attention", "materialised"}};
  EXPECT_TRUE(counted_undone(train(request)).empty());
}

TEST(Train, APrecisionsOwnRateChangesItsProductsAlone) {
  TrainRequest request = llama3("dgx-h100");
  const double before = train(request).iteration.iteration_s;
  request.overrides = {{"system.accelerator.sustained.fp8", "0.5"}};
  EXPECT_EQ(train(request).iteration.iteration_s, before) << "it computes in 16 bits";
  request.overrides = {{"system.accelerator.sustained.bf16", "0.5"}};
  EXPECT_GT(train(request).iteration.iteration_s, 1.3 * before);
}

TEST(Train, TheHostsShareIsWhatARunSavesWhoseOperatorsAreIssuedInNoTime) {
  TrainRequest request;
  request.model = "megatron-1.7b", request.system = "a100-selene";
  request.gpus = 8, request.global_batch = 64, request.tp = 8, request.pp = 1, request.dp = 1;
  const TrainedModel slow = train(request);
  request.overrides = {{"system.accelerator.host_time_per_operator", "0 s"}};
  const TrainedModel fast = train(request);
  EXPECT_GT(slow.host_share, 0.05);
  EXPECT_EQ(fast.host_share, 0);
  EXPECT_NEAR(slow.iteration.iteration_s * (1 - slow.host_share), fast.iteration.iteration_s,
              1e-12 * fast.iteration.iteration_s);
}

TEST(Train, WhatWasNotGivenAndIsNotChosenIsNamedAsAssumed) {
  TrainRequest request = gpt3(1024);
  EXPECT_EQ(train(request).assumed, (base::Codes{"attention"})) << "the microbatch is searched";
  request.tp = request.pp = 8, request.dp = 16;
  EXPECT_EQ(train(request).assumed, (base::Codes{"micro_batch", "attention"}));
  request.micro_batch = 1;
  request.overrides = {{"model.attention", "flash"}};
  EXPECT_EQ(train(request).assumed, base::Codes{});
}

}  // namespace
}  // namespace orrery::verbs
