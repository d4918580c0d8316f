// The fit of the A100 constants, done again: the system file holds what it finds.
#include "orrery/verbs/validate/calibrate_test_util.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <tuple>

#include <source_dir.h>

#include "orrery/formats/orrery/systems.h"

namespace orrery::verbs {
namespace {

using namespace testing;

const std::string kDirectory = ORRERY_SOURCE_DIR "/catalog";

class Calibration : public ::testing::Test {
 protected:
  static const std::vector<MeasuredSet>& sets() {
    static const std::vector<MeasuredSet> read = read_measured(kDirectory, {"vtrain_multi", "vtrain_single"});
    return read;
  }
  static const cluster::System& system() {
    static const cluster::System read = formats::orrery::load_system(kDirectory, "vtrain-a100").system;
    return read;
  }

  // Mean absolute error of each set's runs, every group predicted by constants fitted to the others.
  template <typename Key>
  static std::vector<double> leaving_out(const std::vector<WeightedRun>& runs,
                                         const std::function<Key(const MeasuredRun&)>& key, int steps) {
    std::map<Key, std::vector<WeightedRun>> groups;
    for (const WeightedRun& run : runs) groups[key(*run.run)].push_back(run);
    std::map<bool, std::vector<double>> errors;  // of one node?
    for (const auto& [left_out, members] : groups) {
      std::vector<WeightedRun> others;
      for (const WeightedRun& run : runs)
        if (key(*run.run) != left_out) others.push_back(run);
      const cluster::System fitted = with_constants(system(), fit(system(), others, fitted_constants(system()), steps));
      for (const WeightedRun& run : members) errors[run.run->plan.gpus <= 8].push_back(error_of(*run.run, fitted));
    }
    return {summarise(errors[false]).mean_absolute, summarise(errors[true]).mean_absolute};
  }
};

TEST_F(Calibration, TheSystemFileHoldsWhatTheFitFinds) {
  const std::vector<WeightedRun> runs = weighted(sets(), Use::kFitted);
  const FittedConstants start = {0.8, 300, 30e-6, 100e-6, 10e-6, 60};
  const FittedConstants found = fit(system(), runs, start);
  const FittedConstants held = fitted_constants(system());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::getenv("ORRERY_SHOW"))
      std::printf("%s %.6g (file %.6g)\n", std::string(kFittedConstants[i]).c_str(), found[i], held[i]);
    EXPECT_NEAR(held[i], found[i], 0.02 * found[i]) << kFittedConstants[i];
  }
}

TEST_F(Calibration, LeavingOutOneShapeAtATimeSingleNodeStaysWithinNinePercent) {
  using Shape = std::tuple<base::Count, base::Count, base::Count>;
  const auto errors = leaving_out<Shape>(
      weighted(sets(), Use::kFitted),
      [](const MeasuredRun& run) {
        return run.plan.gpus <= 8 ? Shape{run.model.hidden, run.plan.tp, run.plan.micro_batch} : Shape{0, 0, 0};
      },
      4);
  std::printf("leave-one-shape-out: single-node %.2f %%\n", 100 * errors[1]);
  EXPECT_LT(errors[1], 0.09);
}

TEST_F(Calibration, LeavingOutOneModelAtATimeStaysNearTheFit) {
  const auto errors = leaving_out<std::string>(
      weighted(sets(), Use::kFitted),
      [](const MeasuredRun& run) {
        return std::to_string(run.model.hidden) + "x" + std::to_string(run.plan.gpus <= 8 ? 0 : run.model.layers);
      },
      12);
  std::printf("leave-one-model-out: multi-node %.2f %%, single-node %.2f %%\n", 100 * errors[0], 100 * errors[1]);
  EXPECT_LT(errors[0], 0.07);
  EXPECT_LT(errors[1], 0.09);
}

TEST_F(Calibration, FindsConstantsThatMadeTheTimes) {
  std::vector<MeasuredSet> made = sets();
  const FittedConstants truth = {0.7, 200, 50e-6, 80e-6, 20e-6, 60};
  const cluster::System other = with_constants(system(), truth);
  for (MeasuredSet& set : made)
    for (MeasuredRun& run : set.runs) run.value *= 1 + error_of(run, other);
  const FittedConstants found = fit(system(), weighted(made, Use::kFitted), fitted_constants(system()));
  for (std::size_t i = 0; i < truth.size(); ++i)
    EXPECT_NEAR(found[i], truth[i], 0.01 * truth[i]) << kFittedConstants[i];
}

}  // namespace
}  // namespace orrery::verbs
