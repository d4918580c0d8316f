// Adapters of low rank beside frozen matrices (plan.lora_rank): what they weigh, where they stand, what bounds them.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/describe/machine/roofline.h"
#include "orrery/engines/cluster/model/evaluate.h"
#include "orrery/engines/cluster/model/iteration_operators.h"
#include "orrery/engines/cluster/model/memory.h"
#include "orrery/engines/cluster/model/random_plan_test_util.h"
#include "orrery/engines/cluster/search/bounds.h"

namespace orrery::cluster {
namespace {

Iteration evaluated(const Training& run) {
  return evaluate(run.model, run.system, run.plan, machine::Roofline(run.system.accelerator));
}

// Eight experts in every layer, and nothing else of a feed-forward network.
Training mixture() {
  Training run{gpt(16, 2048, 24, 51200, 1024), a100(400), {}};
  run.model.experts = {.count = 8, .top_k = 2, .ffn = 1024};
  run.plan = {.gpus = 8, .global_batch = 64, .dp = 8};
  return run;
}

TEST(Adapters, HaveTheSameStateAndGradientsHoweverFarExpertsAreSpread) {
  Training run = mixture();
  run.plan.ep = 1;
  run.plan.lora_rank = 16;
  const Memory whole = evaluated(run).memory;
  // 16 (in + out) parameters beside the matrices of attention, queries' with keys and values, and the router.
  const double adapters = 24.0 * 16 * ((2048 + 3 * 2048) + (2048 + 2048) + (2048 + 8));
  EXPECT_NEAR(whole.optimizer, 12 * adapters, 1e-9 * whole.optimizer);
  for (const base::Count ep : {2, 4, 8}) {
    run.plan.ep = ep;
    const Memory spread = evaluated(run).memory;
    EXPECT_EQ(spread.optimizer, whole.optimizer) << ep;
    EXPECT_EQ(spread.gradients, whole.gradients) << ep;
    EXPECT_LT(spread.weights, whole.weights) << ep;
  }
}

TEST(Adapters, TakeMemoryForTheirOwnWeightsBesideTheFrozenOnes) {
  Training run = mixture();
  const double frozen = evaluated(run).memory.weights;
  run.plan.lora_rank = 16;
  const Memory thin = evaluated(run).memory;
  EXPECT_NEAR(thin.weights - frozen, 2 * thin.optimizer / 12, 1e-9 * frozen);
  run.plan.lora_rank = 64;
  EXPECT_NEAR(evaluated(run).memory.weights - frozen, 4 * (thin.weights - frozen), 1e-9 * frozen);
}

TEST(Adapters, ZeroDividesTheirStateByAllReplicasAndNotByTheExperts) {
  Training run = mixture();
  run.plan.lora_rank = 16;
  const double whole = evaluated(run).memory.optimizer;
  run.plan.zero = 1;
  EXPECT_NEAR(evaluated(run).memory.optimizer, whole / 8, 1e-9 * whole);
}

TEST(Adapters, RanksOfTensorParallelismShareWhatOfAnAdapterLiesOnTheCutSide) {
  Training run{gpt(32, 4096, 2), a100(1600), {}};
  run.plan.gpus = run.plan.tp = run.plan.global_batch = 4;
  run.plan.lora_rank = 8;
  // Columns of QKV and of the first feed-forward matrix, rows of the other two.
  const double sizes = 4096 + 3 * 1024 + 1024 + 4096 + 4096 + 4096 + 4096 + 4096;
  const double optimizer = evaluated(run).memory.optimizer;
  EXPECT_NEAR(optimizer, 12 * 2 * 8 * sizes, 1e-9 * optimizer);
}

TEST(Adapters, StandBesideNoExpertEvenWhereARankHasOneAlone) {
  Training run = mixture();
  run.plan.ep = 8;
  run.plan.lora_rank = 16;
  const machine::Roofline operators(run.system.accelerator);
  double products = 0;  // forward
  for (const OperatorUse& use : operators_of(run.model, run.system, run.plan, &operators))
    if (use.name == "adapter" && use.pass == OperatorPass::kForward) products += use.times;
  EXPECT_EQ(products, 2 * 3 * 24 * 8) << "two beside each of three matrices, for each layer and microbatch";
}

// Where the host decides, all that adapters add are their operators: two products, a scale and a sum forwards, twice as
// many backwards. PyTorch's stand beside queries, keys and values apart.
TEST(Adapters, AreIssuedAsFourOperatorsEachBesideTheMatricesOfTheirSoftware) {
  Training run{gpt(16, 2048, 24), a100(1600), {}};
  run.system.accelerator.host_seconds_per_op = 1;
  run.plan.lora_rank = 16;
  run.plan.stack.name = StackName::kMegatronCore;
  const auto with_networks = [&](bool networks) {
    run.plan.lora_networks = networks;
    return evaluated(run).iteration_s;
  };
  const double layers = 24, passes = 3;
  const double all = with_networks(true), attention = with_networks(false);
  EXPECT_NEAR(all - attention, layers * passes * 4 * 2, 1e-3) << "both matrices of a feed-forward network";
  run.plan.stack.name = StackName::kPytorchFsdp;
  EXPECT_NEAR(with_networks(false) - attention, layers * passes * 4 * 2, 1e-3) << "queries, keys and values apart";
  run.plan.frozen_bits = 4;
  EXPECT_NEAR(with_networks(true) - all, layers * passes * (3 * 6 + 4 * 2), 1e-3) << "six matrices are made whole";
}

TEST(Adapters, TiedTablesThatAreFrozenExchangeNoGradients) {
  Training run{gpt(16, 2048, 24), a100(400), {}};
  run.plan = {.gpus = 4, .global_batch = 8, .pp = 4};
  run.model.tied_embedding = false;
  run.plan.lora_rank = 16;
  const double apart = evaluated(run).breakdown.pp_exposed;
  run.model.tied_embedding = true;
  EXPECT_EQ(evaluated(run).breakdown.pp_exposed, apart);
}

RC_GTEST_PROP(Adapters, NoIterationWithThemIsShorterAndNoMemorySmallerThanTheirBounds, (Training run)) {
  run.plan.lora_rank = *rc::gen::element<base::Count>(1, 16, 300, 5000);
  const Model model = run.model;
  const machine::Roofline operators(run.system.accelerator);
  const Iteration iteration = evaluate(model, run.system, run.plan, operators);
  const double seconds = iteration.iteration_s * (1 + 1e-12);
  const double m = whole_microbatches(run.plan);
  RC_ASSERT(m * whole_seconds(model, run.system, run.plan, operators) / static_cast<double>(run.plan.pp) <= seconds);
  const auto batch = static_cast<double>(run.plan.global_batch), gpus = static_cast<double>(run.plan.gpus);
  RC_ASSERT(batch / gpus * peak_seconds(model, run.system, run.plan, operators) <= seconds);
  const Pipeline pipe = stages_of(model, run.system, run.plan, operators);
  const double outside = outside_bound(model, run.system, run.plan, operators);
  const double late = late_share(run.system, run.plan);
  RC_ASSERT(pipeline_bound(model, run.plan, pipe, late) + outside <= seconds);
  RC_ASSERT(turns_bound(pipe, m, late) + outside <= seconds);
  RC_ASSERT(memory_bound(model, run.plan) <= iteration.memory.total() * (1 + 1e-12));
  RC_ASSERT(iteration.done.hfu <= 1 + 1e-12);
}

RC_GTEST_PROP(Adapters, AHigherRankNeverTakesLessTimeOrMemory, (Training run)) {
  Training higher = run;
  run.plan.lora_rank = 8;
  higher.plan.lora_rank = 64;
  for (base::Count stage = 0; stage < run.plan.pp; ++stage) {
    const Memory low = stage_memory(run.model, run.plan, stage), high = stage_memory(run.model, higher.plan, stage);
    RC_ASSERT(low.weights <= high.weights);
    RC_ASSERT(low.gradients <= high.gradients);
    RC_ASSERT(low.optimizer <= high.optimizer);
  }
  const Iteration low = evaluated(run), high = evaluated(higher);
  RC_ASSERT(low.memory.total() < high.memory.total());
  RC_ASSERT(low.iteration_s <= high.iteration_s * (1 + 1e-12));
}

}  // namespace
}  // namespace orrery::cluster
