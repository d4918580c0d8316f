#include "orrery/engines/cluster/layer/eager_norms.h"

#include <gtest/gtest.h>

#include "orrery/describe/machine/roofline.h"
#include "orrery/engines/cluster/model/a100_test_util.h"
#include "orrery/engines/cluster/model/memory.h"

namespace orrery::cluster {
namespace {

// A Llama of 8 heads of 128 and two key/value heads, on two tensor ranks.
struct Llama {
  Model model;
  System system = a100(1600);
  Plan plan = {.gpus = 2, .global_batch = 2, .micro_batch = 2, .tp = 2};

  Llama() {
    Gpt plain = gpt(8, 1024, 4, 32000, 512);
    plain.kv_heads = 2;
    plain.gated = true;
    plain.biases = plain.dropout = plain.learned_positions = false;
    model = plain;
    plan.stack.eager = true;
  }

  EagerNorms bytes() const {
    const machine::Roofline operators(system.accelerator);
    return eager_norms(layer_context(model, system, plan, operators), model.kinds.at(0));
  }
  PassPair passes() const {
    const machine::Roofline operators(system.accelerator);
    return layer_passes(layer_context(model, system, plan, operators), model.kinds.at(0));
  }
};

constexpr double kTokens = 2 * 512;
constexpr double kRotated = kTokens * (1024 + 256) / 2;

TEST(EagerNorms, ANormMoves118BytesOfAnElementMoreThanAKernelAndARotation40) {
  const EagerNorms eager = Llama().bytes();
  EXPECT_EQ(eager.norms_bytes, 32 * kTokens * 2 * 1024);
  EXPECT_EQ(eager.forward_bytes, eager.norms_bytes + 20 * kRotated);
  EXPECT_EQ(eager.backward_bytes, 86 * kTokens * 2 * 1024 + 20 * kRotated);
}

TEST(EagerNorms, SequenceParallelismDividesNormsAndTensorParallelismRotations) {
  Llama run;
  run.plan.sequence_parallel = true;
  EXPECT_EQ(run.bytes().norms_bytes, 16 * kTokens * 2 * 1024);
  EXPECT_EQ(run.bytes().forward_bytes - run.bytes().norms_bytes, 20 * kRotated);
}

TEST(EagerNorms, LayerNormAndLearnedPositionsHaveNoChains) {
  Llama run;
  Gpt plain = gpt(8, 1024, 4, 32000, 512);
  plain.learned_positions = true;
  run.model = plain;
  EXPECT_EQ(run.bytes().forward_bytes, 0);
  EXPECT_EQ(run.bytes().backward_bytes, 0);
  plain.learned_positions = false;
  run.model = plain;
  EXPECT_EQ(run.bytes().norms_bytes, 0);
  EXPECT_EQ(run.bytes().forward_bytes, 20 * kTokens * 1024) << "as many keys as queries";
}

TEST(EagerNorms, ALayerIsSlowerByThatTrafficWhateverOtherTrafficCounts) {
  Llama run;
  run.plan.stack.traffic = 1.5;
  const EagerNorms eager = run.bytes();
  const PassPair with = run.passes();
  run.plan.stack.eager = false;
  const PassPair without = run.passes();
  EXPECT_NEAR(with.forward.compute - without.forward.compute, eager.forward_bytes / (2.039e12 * 0.85), 1e-12);
  EXPECT_NEAR(with.backward.compute - without.backward.compute, eager.backward_bytes / (2.039e12 * 0.85), 1e-12);
}

TEST(EagerNorms, WhatIsComputedAgainIsEagerAgain) {
  Llama run;
  run.plan.recompute = Recompute::kFull;
  EXPECT_DOUBLE_EQ(run.passes().backward.again, run.passes().forward.compute);
  run.plan.recompute = Recompute::kSelective;
  run.plan.recomputed = {.core = false, .norms = true};
  const double with = run.passes().backward.again;
  run.plan.stack.eager = false;
  EXPECT_NEAR(with - run.passes().backward.again, Llama().bytes().norms_bytes / (2.039e12 * 0.85), 1e-12);
}

TEST(EagerNorms, KeepTheirInputsIn32BitsAndGatesTheirActivation) {
  Llama run;
  const auto kept = [&] { return activation_bytes_per_layer(run.model, run.plan, run.model.kinds.at(0)); };
  const double with = kept();
  run.plan.stack.eager = false;
  EXPECT_DOUBLE_EQ(with - kept(), kTokens * (4 * 2 * 1024 + 2 * 4 * 1024 / 2));
  run.plan.recompute = Recompute::kFull;
  const double input = kept();
  run.plan.stack.eager = true;
  EXPECT_DOUBLE_EQ(kept(), input) << "of a layer that is done again only its input is kept";
}

}  // namespace
}  // namespace orrery::cluster
