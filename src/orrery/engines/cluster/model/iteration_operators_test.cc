#include "orrery/engines/cluster/model/iteration_operators.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/describe/machine/roofline.h"
#include "orrery/engines/cluster/model/evaluate.h"
#include "orrery/engines/cluster/model/random_plan_test_util.h"
#include "orrery/engines/cluster/pipeline/pipeline.h"

namespace orrery::cluster {
namespace {

double sum_of(const OperatorUses& uses, const machine::OperatorModel& operators, bool step) {
  double sum = 0;
  for (const OperatorUse& use : uses)
    if ((use.pass == OperatorPass::kStep) == step) sum += use.times * operators.cost(use.one).seconds;
  return sum;
}

// What all stages compute in an iteration, one rank of each.
double computed(const Model& model, const System& system, const Plan& plan, const machine::OperatorModel& operators) {
  double sum = 0;
  for (const Kind& kind : pipeline(layer_context(model, system, plan, operators)))
    sum += kind.count * (kind.stage.passes.forward.compute + kind.stage.passes.backward.compute);
  return sum * static_cast<double>(microbatches(plan));
}

RC_GTEST_PROP(OperatorsOfARun, TheirSecondsAddUpToWhatAllStagesCompute, ()) {
  Training run = random_run();
  run.plan.fused_accumulation = *rc::gen::arbitrary<bool>();
  run.plan.stack.grouped_rate = 0.75;
  run.plan.stack.traffic = 1.5;
  run.plan.lora_rank = *rc::gen::element<base::Count>(0, 0, 16);
  const machine::Roofline operators(run.system.accelerator);
  const Model model = run.model;
  const OperatorUses uses = operators_of(model, run.system, run.plan, &operators);
  const double all = computed(model, run.system, run.plan, operators);
  RC_ASSERT(std::abs(sum_of(uses, operators, false) - all) <= 1e-9 * all);
  for (const OperatorUse& use : uses) RC_ASSERT(use.times > 0);
}

// Knows the forward pass of attention alone as one operator, of so many seconds a score.
class ForwardAlone final : public machine::OperatorModel {
 public:
  ForwardAlone(const machine::OperatorModel& rest, double seconds) : rest_(rest), seconds_(seconds) {}
  double matrix_product_seconds(const machine::MatrixProduct& product) const override {
    return rest_.matrix_product_seconds(product);
  }
  double memory_bound_seconds(double bytes) const override { return rest_.memory_bound_seconds(bytes); }
  double issue_seconds() const override { return rest_.issue_seconds(); }
  std::optional<double> attention_seconds(const machine::Operator& one) const override {
    const auto [batch, m, n, k, precision] = one.product;
    if (one.gradient) return std::nullopt;
    return seconds_ * static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n);
  }

 private:
  const machine::OperatorModel& rest_;
  double seconds_;
};

bool is_attention(const OperatorUse& use) {
  return use.one.kind == machine::OperatorKind::kAttention;
}

RC_GTEST_PROP(OperatorsOfARun, AttentionThatIsKnownForwardsAloneIsTakenWhereItIsLessAndLeavesBackwardPassesAlone, ()) {
  Training run = random_run();
  run.plan.stack.traffic = 1.5;
  const machine::Roofline roofline(run.system.accelerator);
  const ForwardAlone never(roofline, 1e9);  // as if nothing knew it
  const double apart = computed(run.model, run.system, run.plan, never);
  const OperatorUses products = operators_of(run.model, run.system, run.plan, &never);
  RC_ASSERT(std::none_of(products.begin(), products.end(), is_attention));
  RC_ASSERT(std::abs(sum_of(products, never, false) - apart) <= 1e-9 * apart);
  double before = apart;
  for (const double seconds : {1e-11, 1e-13, 1e-15}) {
    const ForwardAlone joined(roofline, seconds);
    const double all = computed(run.model, run.system, run.plan, joined);
    RC_ASSERT(all <= before * (1 + 1e-12));
    before = all;
    const OperatorUses uses = operators_of(run.model, run.system, run.plan, &joined);
    RC_ASSERT(std::abs(sum_of(uses, joined, false) - all) <= 1e-9 * all);
    for (const OperatorUse& use : uses)
      RC_ASSERT(!is_attention(use) || use.pass == OperatorPass::kForward || use.pass == OperatorPass::kRecomputation);
  }
}

TEST(OperatorsOfARun, TheStepIsTheOptimisersTrafficOfAllStages) {
  const Model model = gpt(16, 2048, 8, 32000, 1024);
  Plan plan;
  plan.gpus = 8, plan.tp = 2, plan.pp = 4, plan.global_batch = 8;
  const System system = a100(200);
  const machine::Roofline operators(system.accelerator);
  const double whole =
      operators.memory_bound_seconds(system.calibration.optimizer_bytes_per_param * model.parameters / 2);
  // The tied table stands on two stages, and tensor ranks share the rest.
  EXPECT_GE(sum_of(operators_of(model, system, plan), operators, true), whole * 0.99);
  EXPECT_LE(sum_of(operators_of(model, system, plan), operators, true), whole * 1.5);
}

TEST(OperatorsOfARun, ALayerOfAPlainModelHasFourProductsThreeTimesAndItsScores) {
  Plan plan;
  plan.global_batch = 1;
  const OperatorUses uses = operators_of(gpt(16, 2048, 6, 0, 1024), a100(200), plan);
  int products = 0;
  for (const OperatorUse& use : uses)
    if (use.one.kind == machine::OperatorKind::kProduct) {
      ++products;
      EXPECT_GE(use.times, 6) << use.name;  // of each layer
    }
  EXPECT_EQ(products, 4 * 3 + 2 * 2);
}

}  // namespace
}  // namespace orrery::cluster
