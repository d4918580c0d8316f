#include "orrery/cluster/stages.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery::cluster {
namespace {

RC_GTEST_PROP(Stages, EveryLayerHasOneStageAndLengthsDifferByAtMostOne, ()) {
  const auto stages = *rc::gen::inRange<base::Count>(1, 40);
  const auto layers = *rc::gen::inRange<base::Count>(stages, 200);
  base::Count sum = 0;
  for (base::Count stage = 0; stage < stages; ++stage) {
    const base::Count own = layers_of_stage(layers, stages, stage);
    RC_ASSERT(own == layers / stages || own == base::ceil_divide(layers, stages));
    // The longer ones between come first, as evaluate.cc counts on.
    if (stage > 1 && stage < stages - 1) RC_ASSERT(own <= layers_of_stage(layers, stages, stage - 1));
    sum += own;
  }
  RC_ASSERT(sum == layers);
}

TEST(Stages, Llama3LeavesALayerOutOfTheFirstAndTheLastOfItsStages) {
  EXPECT_EQ(layers_of_stage(126, 16, 0), 7);
  EXPECT_EQ(layers_of_stage(126, 16, 1), 8);
  EXPECT_EQ(layers_of_stage(126, 16, 14), 8);
  EXPECT_EQ(layers_of_stage(126, 16, 15), 7);
}

RC_GTEST_PROP(Stages, MixturesAreDealtOutCompletely, ()) {
  const auto stages = *rc::gen::inRange<base::Count>(1, 20);
  Model model;
  model.layers = *rc::gen::inRange<base::Count>(stages, 100);
  model.experts.count = 8;
  model.experts.dense_layers = *rc::gen::inRange<base::Count>(0, 8);
  model.experts.every = *rc::gen::inRange<base::Count>(1, 4);
  double dense = 0;
  double experts = 0;
  for (base::Count stage = 0; stage < stages; ++stage) {
    const StageLayers own = stage_layers(model, stages, stage);
    RC_ASSERT(own.dense >= -1e-9);
    RC_ASSERT(own.experts >= 0);
    dense += own.dense;
    experts += own.experts;
  }
  RC_ASSERT(std::abs(experts - expert_layers(model)) < 1e-9);
  RC_ASSERT(std::abs(dense + experts - model.layers) < 1e-9);
}

}  // namespace
}  // namespace orrery::cluster
