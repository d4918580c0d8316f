#include "orrery/engines/cluster/layer/eager_experts.h"

#include <gtest/gtest.h>

#include "orrery/describe/machine/roofline.h"
#include "orrery/engines/cluster/model/a100_test_util.h"
#include "orrery/engines/cluster/model/evaluate.h"
#include "orrery/engines/cluster/model/memory.h"

namespace orrery::cluster {
namespace {

// gpt-oss's kind of experts: 64 of them, of which a token visits four, on eight ranks.
struct Trained {
  Model model;
  System system = a100(1600);
  Plan plan;

  Trained() {
    Gpt plain = gpt(16, 2048, 8, 51200, 1024);
    plain.gated = true;
    plain.experts = {.count = 64, .top_k = 4, .ffn = 1536};
    model = plain;
    for (LayerKind& kind : model.kinds) kind.mixture.biases = kind.mixture.clamped = false;
    plan = {.gpus = 8, .global_batch = 16, .micro_batch = 2, .dp = 8, .ep = 8};
    plan.stack.name = StackName::kMegatronCore;
  }

  void set(bool biases, bool clamped) {
    for (LayerKind& kind : model.kinds) kind.mixture.biases = biases, kind.mixture.clamped = clamped;
  }
  EagerExperts eager() const {
    const machine::Roofline operators(system.accelerator);
    return eager_experts(layer_context(model, system, plan, operators), model.kinds.at(0));
  }
  PassPair passes() const {
    const machine::Roofline operators(system.accelerator);
    return layer_passes(layer_context(model, system, plan, operators), model.kinds.at(0));
  }
};

constexpr double kCopies = 2 * 1024 * 4;

TEST(EagerExperts, ABiasCosts68BytesOfEveryElementOfEveryCopyOfAToken) {
  Trained run;
  run.set(true, false);
  const EagerExperts eager = run.eager();
  EXPECT_EQ(eager.forward_bytes + eager.backward_bytes, 68 * kCopies * 2048);
  EXPECT_EQ(eager.limits_bytes, 0);
}

TEST(EagerExperts, LimitsCost18BytesOfEveryElementThatTheFirstMatrixYields) {
  Trained run;
  run.set(false, true);
  const EagerExperts eager = run.eager();
  EXPECT_EQ(eager.forward_bytes + eager.backward_bytes, 18 * kCopies * 2 * 1536);
  EXPECT_EQ(eager.limits_bytes, eager.forward_bytes) << "all of the forward pass is done again with activations";
}

TEST(EagerExperts, OfAutoModelBothBiasesAreAddedAndLimitsAreCompiled) {
  Trained run;
  run.plan.stack.name = StackName::kAutomodel;
  run.set(true, true);
  const EagerExperts eager = run.eager();
  EXPECT_EQ(eager.forward_bytes + eager.backward_bytes, kCopies * (68 * 2048 + 14 * 2 * 1536));
  EXPECT_EQ(eager.limits_bytes, 0);
  run.set(false, true);
  EXPECT_EQ(run.eager().forward_bytes, 0);
}

TEST(EagerExperts, ALayerIsSlowerByThatTrafficAndNoMore) {
  Trained run;
  run.plan.stack.traffic = 1.5;
  const PassPair without = run.passes();
  run.set(true, true);
  const EagerExperts eager = run.eager();
  const PassPair with = run.passes();
  const auto seconds = [&](double bytes) { return 1.5 * bytes / (2.039e12 * 0.85); };
  EXPECT_NEAR(with.forward.compute - without.forward.compute, seconds(eager.forward_bytes), 1e-9);
  EXPECT_NEAR(with.backward.compute - without.backward.compute, seconds(eager.backward_bytes), 1e-9);
  EXPECT_NEAR(with.forward.host - without.forward.host, eager.forward_ops * 37.8e-6, 1e-12);
  EXPECT_NEAR(with.backward.host - without.backward.host, eager.backward_ops * 37.8e-6, 1e-12);
}

TEST(EagerExperts, LimitsAreAppliedAgainWhereActivationsAre) {
  Trained run;
  run.plan.recompute = Recompute::kSelective;
  run.plan.recomputed = {.core = false, .activations = true};
  const double without = run.passes().backward.again;
  run.set(false, true);
  EXPECT_NEAR(run.passes().backward.again - without, run.eager().limits_bytes / (2.039e12 * 0.85), 1e-9);
  run.set(true, false);
  EXPECT_NEAR(run.passes().backward.again, without, 1e-12) << "the bias is added after the second product";
}

TEST(EagerExperts, LimitsKeepWhatTheyAreAppliedToUnlessActivationsAreComputedAgain) {
  Trained run;
  const auto kept = [&] { return activation_bytes_per_layer(run.model, run.plan, run.model.kinds.at(0)); };
  const double without = kept();
  run.set(false, true);
  EXPECT_NEAR(kept() - without, 2 * kCopies * 2 * 1536, 1e-3);
  run.plan.recompute = Recompute::kSelective;
  run.plan.recomputed = {.core = false, .activations = true};
  const double again = kept();
  run.set(false, false);
  EXPECT_NEAR(kept(), again, 1e-3);
}

TEST(EagerExperts, AMixtureThatIsDoneAgainIsExchangedAgain) {
  Trained run;
  run.set(true, true);
  const auto exchanged = [](const Pass& pass) { return pass.ep + pass.ep_hidden; };
  const PassPair without = run.passes();
  run.plan.recompute = Recompute::kSelective;
  run.plan.recomputed = {.core = false, .mixtures = true};
  const PassPair with = run.passes();
  EXPECT_GT(with.backward.again, 0);
  EXPECT_LT(with.backward.again, with.forward.compute) << "attention is not among it";
  EXPECT_NEAR(exchanged(with.backward), exchanged(without.backward) + exchanged(with.forward), 1e-12);
}

TEST(EagerExperts, EveryExpertOfARankHasOperatorsOfItsOwn) {
  Trained run;
  run.set(true, false);
  const double eight = run.eager().backward_ops;
  run.plan.ep = 2;
  EXPECT_GT(run.eager().backward_ops, 3 * eight);
  EXPECT_EQ(run.eager().backward_bytes, 40 * kCopies * 2048) << "the copies are the same";
}

TEST(EagerExperts, OneKernelForARanksExpertsLeavesAReadingOfTheGradientAndOtherSoftwareNothing) {
  Trained run;
  run.set(true, true);
  run.plan.stack.fused_experts = true;
  EXPECT_EQ(run.eager().forward_bytes + run.eager().forward_ops, 0);
  EXPECT_EQ(run.eager().backward_bytes, 2 * kCopies * 2048);
  run.plan.stack.fused_experts = false;
  for (const StackName other : {StackName::kPytorchFsdp, StackName::kXla, StackName::kMegatron2021}) {
    run.plan.stack.name = other;
    EXPECT_EQ(run.eager().backward_bytes + run.eager().backward_ops, 0);
  }
}

TEST(EagerExperts, TensorRanksShareThemWhereExpertsAreWholeAndRepeatTheBiasWhereTheyAreCut) {
  Trained run;
  run.set(true, true);
  const EagerExperts one = run.eager();
  run.plan.gpus = 16, run.plan.tp = 2;
  run.plan.expert_tp = 1;
  EXPECT_EQ(run.eager().forward_bytes, one.forward_bytes / 2);
  run.plan.expert_tp = 2;
  EXPECT_EQ(run.eager().forward_bytes, 28 * kCopies * 2048 + 8 * kCopies * 1536);
}

}  // namespace
}  // namespace orrery::cluster
