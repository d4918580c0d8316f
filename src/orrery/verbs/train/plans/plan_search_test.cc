#include "orrery/verbs/train/plans/plan_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/engines/cluster/search/plan_search_test_util.h"
#include "orrery/verbs/train/plans/plan_files.h"
#include "orrery/verbs/train/plans/plan_rows.h"

namespace orrery::verbs {
namespace {

using cluster::Metric;
using cluster::Variable;

TrainRequest on(const std::string& model, const std::string& system, base::Count gpus, base::Count batch) {
  TrainRequest request;
  request.model = model;
  request.system = system;
  request.gpus = gpus;
  request.global_batch = batch;
  request.limits.threads = 2;
  return request;
}

// Every objective, on models and systems of the catalogue, against loops over all plans.
TEST(TrainSearch, FindsWhatTryingEveryPlanFindsOnTheCatalogue) {
  const std::vector<std::pair<std::string, std::string>> runs = {
      {"bert-large", "a100-selene"},     {"gpt2-medium", "dgx-h100"}, {"llama3-8b", "h100-llama3"},
      {"mixtral-8x7b", "h800-deepseek"}, {"mamba2-2.7b", "dgx-h200"}, {"megatron-1.7b", "vtrain-a100"},
      {"gemma3-1b", "dgx-b200"},         {"gpt-oss-20b", "tpu-v5p"},  {"bert-base", "trainium2-ultraserver"}};
  int compared = 0;
  for (const auto& [model, system] : runs) {
    TrainRequest request = on(model, system, 2, 2);
    request.seq = 1024;
    const TrainedModel loaded = train(request);
    const machine::Roofline operators(loaded.system.accelerator);
    for (unsigned seed = 0; seed < 20; ++seed) {
      cluster::Draw draw(seed);
      cluster::Asked asked = random_space(draw, loaded.model, loaded.system, 8, 6);
      asked.limits.memory = loaded.system.accelerator.memory_bytes;
      std::vector<cluster::Candidate> all = tried_one_by_one(loaded.model, loaded.system, asked, operators);
      const std::size_t metrics = asked.objective.all().size();
      const auto best = std::min_element(all.begin(), all.end(),
                                         [&](const auto& a, const auto& b) { return cluster::better(a, b, metrics); });
      const cluster::Optimum found = cluster::optimize(loaded.model, loaded.system, asked.space, asked.objective,
                                                       asked.limits, operators, base::Budget());
      ASSERT_EQ(found.best.empty(), all.empty()) << model << " seed " << seed;
      if (all.empty()) continue;
      ASSERT_TRUE(cluster::same_plan(found.best[0].plan, best->plan)) << model << " seed " << seed;
      ++compared;
    }
  }
  EXPECT_GT(compared, 60);
}

TEST(TrainSearch, TheAnswerIsTheEvaluationOfItsPlan) {
  const TrainedModel best = train(on("llama3-8b", "dgx-h100", 32, 64));
  ASSERT_TRUE(best.search.has_value());
  EXPECT_TRUE(best.search->certificate.optimal);
  EXPECT_EQ(best.search->top.at(0).iteration.iteration_s, best.iteration.iteration_s);
  EXPECT_EQ(best.search->certificate.lower_bound, best.iteration.iteration_s);
  TrainRequest again = on("llama3-8b", "dgx-h100", best.plan.gpus, 64);
  const cluster::Plan& p = best.plan;
  again.tp = p.tp, again.pp = p.pp, again.dp = p.dp, again.cp = p.cp, again.ep = p.ep;
  again.micro_batch = p.micro_batch, again.interleave = p.interleave, again.recompute = p.recompute;
  again.schedule = cluster::schedule_of(p), again.sequence_parallel = p.sequence_parallel, again.zero = p.zero;
  const TrainedModel same = train(again);
  EXPECT_FALSE(same.search.has_value());
  EXPECT_EQ(same.iteration.iteration_s, best.iteration.iteration_s);
}

TEST(TrainSearch, OpenPlansAreNoSlowerThanTheSmallestDegreesThatFit) {
  // What was chosen before there was a search: memory alone decided.
  struct Before {
    const char* model;
    const char* system;
    base::Count gpus, batch, tp, pp, dp, ep;
  };
  for (const Before& b : {Before{"llama3-70b", "dgx-h100", 512, 1024, 8, 4, 16, 1},
                          Before{"gpt3-175b", "a100-selene", 1024, 1536, 8, 8, 16, 1}}) {
    TrainRequest given = on(b.model, b.system, b.gpus, b.batch);
    given.tp = b.tp, given.pp = b.pp, given.dp = b.dp;
    const double before = train(given).iteration.iteration_s;
    EXPECT_LT(train(on(b.model, b.system, b.gpus, b.batch)).iteration.iteration_s, before) << b.model;
  }
}

TEST(TrainSearch, MoreOfAnythingNeverHurtsOnTheCatalogue) {
  const auto seconds = [](TrainRequest request, const base::Overrides& set) {
    request.overrides = set;
    return train(request).iteration.iteration_s;
  };
  const TrainRequest request = on("llama3-8b", "dgx-h100", 24, 48);
  const double before = seconds(request, {}) * (1 + 1e-12);
  for (const base::Override& better :
       {base::Override{"system.networks.0.bandwidth", "900GB/s"},
        base::Override{"system.networks.1.bandwidth", "100GB/s"}, base::Override{"system.accelerator.memory", "160GB"},
        base::Override{"system.accelerator.peak.bf16", "1.5 PFLOP/s"},
        base::Override{"system.accelerator.memory_bandwidth", "5TB/s"}})
    EXPECT_LE(seconds(request, {better}), before) << better.path;
  double last = std::numeric_limits<double>::infinity();
  for (const base::Count gpus : {16, 17, 20, 24, 31, 32, 48}) {
    const double now = seconds(on("llama3-8b", "dgx-h100", gpus, 48), {});
    EXPECT_LE(now, last) << gpus;
    last = now;
  }
}

TEST(TrainSearch, ASearchIsMadeWhereADegreeIsOpenOrSomethingAsksForIt) {
  TrainRequest request = on("llama3-8b", "dgx-h100", 8, 8);
  request.tp = 8, request.pp = 1, request.dp = 1;
  EXPECT_FALSE(train(request).search.has_value());
  EXPECT_EQ(train(request).plan.micro_batch, 1);
  request.plans.top = 3;
  EXPECT_EQ(train(request).search->top.size(), 3U);
  request = on("mixtral-8x7b", "dgx-h100", 64, 64);
  request.tp = 1, request.pp = 4, request.dp = 16;
  EXPECT_TRUE(train(request).search.has_value());
  request.ep = 8;
  EXPECT_FALSE(train(request).search.has_value());
}

TEST(TrainSearch, SoftwareThatKeepsItsActivationsOffloadsNoneUnlessAsked) {
  TrainRequest request = on("gpt3-175b", "a100-selene", 64, 64);
  const TrainedModel best = train(request);
  EXPECT_EQ(best.plan.stack.name, cluster::StackName::kMegatron2021);
  for (const cluster::Candidate& each : best.search->top) EXPECT_EQ(each.plan.offload_activations, 0);
  EXPECT_EQ(std::count(best.defaulted.begin(), best.defaulted.end(), "offload_activations"), 0);
  request.plans.why = "offload_activations=1";
  EXPECT_EQ(train(request).search->forced->best->plan.offload_activations, 1);
}

TEST(TrainSearch, AGivenScheduleIsKeptByItsName) {
  for (const auto& [name, schedule] : cluster::schedules()) {
    TrainRequest request = on("gpt3-175b", "a100-selene", 128, 128);
    request.schedule = schedule;
    request.pp = 8;
    const TrainedModel best = train(request);
    EXPECT_EQ(cluster::schedule_of(best.plan), schedule) << name;
  }
}

std::string rows(const std::string& text, int threads, bool json, const base::Overrides& overrides = {}) {
  const std::string path = ::testing::TempDir() + "plans_" + std::to_string(threads);
  std::ofstream(path) << text;
  TrainRequest request = on("gpt3-175b", "a100-selene", 64, 1536);
  request.gpus.reset();
  request.overrides = overrides;
  request.limits.threads = threads;
  std::string out;
  evaluate_plan_rows(request, {"plans.csv", path, json}, [&](const std::string& more) { out += more; });
  return out;
}

TEST(PlanRows, AreInOrderAndTheSameForAnyNumberOfThreads) {
  std::string text = "tp,pp,dp,micro_batch,zero\n";
  for (int i = 0; i < 60'000; ++i)
    text += std::to_string(1 << i % 5) + "," + std::to_string(1 + i % 13) + ",8," + std::to_string(1 + i % 3) + "," +
            std::to_string(i % 5) + "\n";
  for (const bool json : {false, true}) {
    const std::string one = rows(text, 1, json);
    EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 60'000 + (json ? 0 : 1));
    EXPECT_EQ(rows(text, 3, json), one);
  }
}

TEST(PlanRows, AreReadAgainAsTheyWereWritten) {
  const std::string once =
      rows("tp,pp,dp,offload_activations,offload_optimizer\n8,8,1,0.5,1\n8,4,2,0.125,0\n", 1, false);
  EXPECT_EQ(once.find("O1946"), std::string::npos) << once;
  EXPECT_NE(once.find(",0.5,1,"), std::string::npos) << once;
  EXPECT_EQ(rows(once, 1, false), once);
}

TEST(PlanRows, RefuseWhatTheHostsDoNotHold) {
  // 2.1 TB of masters and moments: 263 GB for each of eight accelerators, an eighth of that on eight stages.
  const std::string out =
      rows("tp,pp,dp,offload_optimizer\n8,1,1,1\n8,8,1,1\n", 1, false, {{"system.accelerator.host_memory", "100GB"}});
  EXPECT_NE(out.find("O1980: the plan offloads"), std::string::npos) << out;
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 3);
  EXPECT_EQ(out.find("O1980"), out.rfind("O1980")) << "the second row goes on";
}

TEST(PlanRows, SayWhatTrainSaysOfThePlan) {
  TrainRequest request = on("gpt3-175b", "a100-selene", 64, 1536);
  request.tp = 8, request.pp = 8, request.dp = 1, request.recompute = cluster::Recompute::kFull;
  request.interleave = 1;  // which no column says
  std::ostringstream figure;
  figure.precision(17);
  const std::string out = rows("tp,pp,recompute,dp\n8,8,full,1\n", 1, false);
  const std::string row = out.substr(out.find('\n') + 1);
  std::vector<std::string> cells;
  std::istringstream in(row);
  for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
  const TrainedModel trained = train(request);
  ASSERT_GT(cells.size(), 6U);
  EXPECT_EQ(std::stod(cells[cells.size() - 6]), trained.iteration.iteration_s);
  EXPECT_EQ(std::stod(cells[cells.size() - 5]), trained.iteration.memory.total());
}

TEST(PlanFiles, APlanThatWasWrittenIsReadAsItWas) {
  cluster::Plan plan;
  plan.gpus = 96, plan.tp = 4, plan.pp = 3, plan.dp = 8, plan.micro_batch = 2, plan.global_batch = 64;
  plan.schedule = cluster::Schedule::kZeroBubble, plan.recompute = cluster::Recompute::kSelective;
  plan.zero = 2, plan.sequence_parallel = true, plan.overlap.dp = 0.75;
  const std::string path = ::testing::TempDir() + "plan.yaml";
  std::ofstream(path) << plan_text(plan);
  cluster::Plan other;
  base::Input read;
  const std::set<std::string> set = read_plan(path, other, read);
  EXPECT_TRUE(cluster::same_plan(plan, other));
  EXPECT_EQ(other.overlap.dp, 0.75);
  EXPECT_EQ(plan_text(other), plan_text(plan));
  EXPECT_TRUE(set.count("tp") == 1 && set.count("overlap.dp") == 1);
}

}  // namespace
}  // namespace orrery::verbs
