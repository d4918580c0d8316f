// Predictions against measured runs, with the constants of one fit for every A100 system.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "orrery/describe/machine/roofline.h"
#include "orrery/engines/cluster/layer/layer.h"
#include "orrery/engines/cluster/model/a100_test_util.h"
#include "orrery/engines/cluster/model/evaluate.h"

namespace orrery::cluster {
namespace {

base::Count whole(const Row& row, const std::string& column) {
  return static_cast<base::Count>(number(row, column));
}

struct Errors {
  std::vector<double> relative;

  void add(double predicted, double measured) { relative.push_back(predicted / measured - 1); }
  double mean_absolute() const {
    double sum = 0;
    for (const double error : relative) sum += std::abs(error);
    return sum / relative.size();
  }
  // For the message of a failure.
  std::string text() const {
    std::string result = std::to_string(relative.size()) + " rows, errors in %:";
    for (const double error : relative) result += " " + std::to_string(100 * error);
    return result;
  }
};

Iteration run(const Model& model, const System& system, const Plan& plan) {
  base::Diagnostics found;
  check(model, system, plan, found);
  EXPECT_TRUE(found.all().empty()) << (found.all().empty() ? "" : found.all()[0].message);
  return evaluate(model, system, plan, machine::Roofline(system.accelerator));
}

Errors vtrain(const std::string& file) {
  Errors errors;
  const System system = a100(800);
  for (const Row& row : reference_rows(file)) {
    const Model model = gpt(whole(row, "heads"), whole(row, "hidden"), whole(row, "layers"), 50257, whole(row, "seq"));
    Plan plan;
    plan.gpus = whole(row, "gpus");
    plan.global_batch = whole(row, "global_batch");
    plan.micro_batch = whole(row, "microbatch");
    plan.tp = whole(row, "tp");
    plan.pp = whole(row, "pp");
    plan.dp = whole(row, "dp");
    plan.recompute = Recompute::kFull;
    errors.add(run(model, system, plan).iteration_s, number(row, "measured_iter_ms") / 1000);
  }
  return errors;
}

TEST(Accuracy, VtrainMultiNodeIsWithinEightPercent) {
  const Errors errors = vtrain("vtrain_measured_multi.csv");
  ORRERY_NEEDS_SHARED();
  EXPECT_LT(errors.mean_absolute(), 0.08) << errors.text();
}

TEST(Accuracy, VtrainSingleNodeIsWithinEightPercent) {
  const Errors errors = vtrain("vtrain_measured_single.csv");
  ORRERY_NEEDS_SHARED();
  EXPECT_LT(errors.mean_absolute(), 0.08) << errors.text();
}

TEST(Accuracy, KorthikantiEndToEndIsWithinTwoAndAHalfPercent) {
  Errors errors;
  const System system = a100(1600);
  for (const Row& row : reference_rows("korthikanti2022_table5.csv")) {
    const Model model = gpt(whole(row, "heads"), whole(row, "hidden"), whole(row, "layers"));
    Plan plan;
    plan.gpus = whole(row, "gpus");
    plan.global_batch = whole(row, "global_batch");
    plan.micro_batch = whole(row, "microbatch");
    plan.tp = whole(row, "tp");
    plan.pp = whole(row, "pp");
    plan.interleave = row.at("model") == "175B" ? 3 : 1;
    plan.recompute = Recompute::kFull;
    errors.add(run(model, system, plan).iteration_s, number(row, "iter_s_full_recompute"));
    plan.recompute = Recompute::kSelective;
    plan.sequence_parallel = true;
    errors.add(run(model, system, plan).iteration_s, number(row, "iter_s_sp_selective"));
  }
  ORRERY_NEEDS_SHARED();
  EXPECT_LT(errors.mean_absolute(), 0.025) << errors.text();
}

TEST(Accuracy, NarayananTableOneIsWithinFourPercent) {
  Errors errors;
  const System system = a100(1600);
  for (const Row& row : reference_rows("narayanan2021_table1.csv")) {
    const Model model = gpt(whole(row, "heads"), whole(row, "hidden"), whole(row, "layers"));
    Plan plan;
    plan.gpus = whole(row, "gpus");
    plan.global_batch = whole(row, "global_batch");
    plan.micro_batch = 2;
    plan.tp = whole(row, "tp");
    plan.pp = whole(row, "pp");
    plan.dp = whole(row, "dp");
    plan.recompute = Recompute::kFull;
    errors.add(run(model, system, plan).iteration_s, number(row, "derived_iter_time_s"));
  }
  ORRERY_NEEDS_SHARED();
  EXPECT_LT(errors.mean_absolute(), 0.04) << errors.text();
}

TEST(Accuracy, OneLayerOfKorthikantisTableFourIsWithinTwelvePercent) {
  struct Setting {
    bool sequence_parallel;
    Recompute recompute;
  };
  const Setting settings[] = {{false, Recompute::kNone},
                              {true, Recompute::kNone},
                              {false, Recompute::kFull},
                              {false, Recompute::kSelective},
                              {true, Recompute::kSelective}};
  const auto rows = reference_rows("korthikanti2022_table4_layer.csv");
  ORRERY_NEEDS_SHARED();
  ASSERT_EQ(rows.size(), std::size(settings));
  const System system = a100(1600);
  const machine::Roofline operators(system.accelerator);
  const Model model = gpt(64, 6144, 48);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Plan plan;
    plan.gpus = plan.tp = 8;
    plan.global_batch = plan.micro_batch = 4;
    plan.sequence_parallel = settings[i].sequence_parallel;
    plan.recompute = settings[i].recompute;
    const PassPair passes = layer_passes(layer_context(model, system, plan, operators), model.kinds[0]);
    EXPECT_NEAR(1e3 * passes.forward.device() / number(rows[i], "fwd_ms"), 1, 0.12) << rows[i].at("experiment");
    EXPECT_NEAR(1e3 * passes.backward.device() / number(rows[i], "bwd_ms"), 1, 0.12) << rows[i].at("experiment");
  }
}

}  // namespace
}  // namespace orrery::cluster
