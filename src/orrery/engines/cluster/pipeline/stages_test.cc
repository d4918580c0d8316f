#include "orrery/engines/cluster/pipeline/stages.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

#include "orrery/engines/cluster/model/a100_test_util.h"

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

RC_GTEST_PROP(Stages, EveryKindIsDealtOutCompletely, ()) {
  const auto stages = *rc::gen::inRange<base::Count>(1, 20);
  Gpt sizes = gpt(8, 512, *rc::gen::inRange<base::Count>(stages, 100));
  sizes.experts = {.count = 8, .ffn = 64};
  sizes.experts.dense_layers = *rc::gen::inRange<base::Count>(0, 8);
  sizes.experts.every = *rc::gen::inRange<base::Count>(1, 4);
  sizes.window = 128;
  sizes.windowed_layers = *rc::gen::inRange<base::Count>(0, sizes.layers + 1);
  const Model model = sizes;
  std::vector<double> dealt(model.kinds.size());
  for (base::Count stage = 0; stage < stages; ++stage) {
    double all = 0;
    for (std::size_t k = 0; k < model.kinds.size(); ++k) {
      const double own = layers_of_kind(model, k, stages, stage);
      RC_ASSERT(own >= -1e-9);
      dealt[k] += own;
      all += own;
    }
    RC_ASSERT(std::abs(all - static_cast<double>(layers_of_stage(model.layers, stages, stage))) < 1e-9);
  }
  for (std::size_t k = 0; k < model.kinds.size(); ++k)
    RC_ASSERT(std::abs(dealt[k] - static_cast<double>(model.kinds[k].layers)) < 1e-9);
}

TEST(Stages, ADenseFrontStandsOnTheFirstStages) {
  Gpt sizes = gpt(8, 512, 16);
  sizes.experts = {.count = 8, .ffn = 64, .dense_layers = 3};
  const Model model = sizes;
  ASSERT_EQ(model.kinds.size(), 2u);
  ASSERT_EQ(model.front, 0);
  EXPECT_DOUBLE_EQ(layers_of_kind(model, 0, 4, 0), 3);
  EXPECT_DOUBLE_EQ(layers_of_kind(model, 1, 4, 0), 1);
  EXPECT_DOUBLE_EQ(layers_of_kind(model, 1, 4, 2), 4);
}

}  // namespace
}  // namespace orrery::cluster
