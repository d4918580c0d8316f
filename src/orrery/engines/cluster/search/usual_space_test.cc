#include "orrery/engines/cluster/search/usual_space.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "orrery/engines/cluster/search/optimize.h"
#include "orrery/engines/cluster/search/plan_search_test_util.h"

namespace orrery::cluster {
namespace {

TEST(UsualSpace, IsAPartOfTheSpaceWhoseBestIsWhatTryingItsPlansFinds) {
  int with_plans = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    Draw draw(40'000 + seed);
    const Model model = random_model(draw);
    const System system = random_system(draw);
    Asked asked = random_space(draw, model, system, 12, 12);
    const machine::Roofline operators(system.accelerator);
    const std::size_t metrics = asked.objective.all().size();
    std::vector<Candidate> wide = ranked(tried_one_by_one(model, system, asked, operators), metrics);
    const Domain all(model, system, asked.space);
    asked.space = usual_space(model, system, asked.space);
    const Optimum found =
        optimize(model, system, asked.space, asked.objective, asked.limits, operators, base::Budget());
    ASSERT_TRUE(found.certificate.optimal);
    if (found.best.empty()) continue;
    ++with_plans;
    ASSERT_FALSE(wide.empty()) << "seed " << seed;
    EXPECT_FALSE(better(found.best[0], wide[0], metrics)) << "seed " << seed;
    EXPECT_TRUE(all.allowed(found.best[0].plan)) << "seed " << seed;
    const Domain usual_domain(model, system, asked.space);
    // Of the wide space's plans that are usual none is better.
    for (const Candidate& each : wide) {
      if (!better(each, found.best[0], metrics)) break;
      bool usual = usual_domain.allowed(each.plan);
      for (const Variable variable : kVariables) {
        const Values& values = asked.space.of(variable);
        usual = usual &&
                (values.empty() || std::find(values.begin(), values.end(), get(each.plan, variable)) != values.end());
      }
      EXPECT_FALSE(usual) << "seed " << seed;
    }
  }
  EXPECT_GT(with_plans, 50);
}

// Primus has Megatron-LM behind it, AutoModel and torchtitan have FSDP.
TEST(UsualSpace, OfPrimusIsMegatronsAndThatOfKinOfFsdpIsNot) {
  Draw draw(7);
  const Model model = random_model(draw);
  const System system = random_system(draw);
  Space space = random_space(draw, model, system, 12, 12).space;
  space.of(Variable::kMicroBatch) = {};
  space.of(Variable::kZero) = {};
  const Features beyond_one = feature("zero_2") | feature("zero_3");
  for (const StackName megatron : {StackName::kMegatronCore, StackName::kPrimus, StackName::kMegatron2021}) {
    space.base.stack.name = megatron;
    space.base.stack.lacks = feature("uneven_microbatches");
    const Space usual = usual_space(model, system, space);
    EXPECT_EQ(usual.of(Variable::kMicroBatch), (Values{1, 2, 4, 8}));
    EXPECT_EQ(usual.base.stack.lacks & beyond_one, beyond_one);
  }
  for (const StackName sharded : {StackName::kPytorchFsdp, StackName::kTorchtitan, StackName::kAutomodel}) {
    space.base.stack.name = sharded;
    space.base.stack.lacks = feature("uneven_microbatches");
    const Space usual = usual_space(model, system, space);
    EXPECT_TRUE(usual.open(Variable::kMicroBatch));
    EXPECT_EQ(usual.base.stack.lacks & beyond_one, Features{0});
  }
}

TEST(UsualSpace, KeepsWhatIsGiven) {
  Draw draw(1);
  const Model model = random_model(draw);
  const System system = random_system(draw);
  Space space = random_space(draw, model, system, 12, 12).space;
  space.of(Variable::kOffloadActivations) = {kWholeShare};
  space.of(Variable::kMicroBatch) = {12};
  const Space usual = usual_space(model, system, space);
  EXPECT_EQ(usual.of(Variable::kOffloadActivations), Values{kWholeShare});
  EXPECT_EQ(usual.of(Variable::kMicroBatch), Values{12});
  EXPECT_EQ(without_offloading(space).of(Variable::kOffloadActivations), Values{kWholeShare});
}

}  // namespace
}  // namespace orrery::cluster
