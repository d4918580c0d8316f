#include "orrery/runtime/tuning/access_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/runtime/tuning/kernel_space.h"
#include "orrery/runtime/tuning/selection/possible_layouts.h"

namespace orrery::tuning {
namespace {

FusedRun some_run() {
  FusedRun run;
  run.sizes = Sizes::encoder(8, 64, 4, 256, 1024);
  return run;
}

TEST(AccessModel, FindsWhatEachTensorsAccessCostsFromSums) {
  const FusedRun run = some_run();
  AccessModel model(*fused_kernel("bei"), run, 1e10);
  const double cost[] = {0, 1e-4, 3e-4, 9e-4};
  const auto truth = [&](const std::string& kind) {
    double sum = 2e-5;
    for (std::size_t i = 1; i < 4; ++i) sum += cost[kind[i] - '0'] * static_cast<double>(i);
    return sum;
  };
  for (const char* kind : {"l111", "l112", "l121", "l211", "l222", "l113", "l131", "l311", "l123", "l231"})
    model.learn(kind, truth(kind));
  for (const char* kind : {"l212", "l221", "l312", "l133"})
    EXPECT_NEAR(model.predict(kind) / truth(kind), 1, 0.15) << kind;
  EXPECT_EQ(model.predict("l112"), truth("l112"));  // measured: itself
  EXPECT_LT(model.lower("l212"), model.predict("l212"));
}

TEST(AccessModel, StatesALargeErrorBeforeItHasExperienceAndASmallOneWhereItIsRight) {
  const FusedRun run = some_run();
  AccessModel model(*fused_kernel("bei"), run, 1e10);
  EXPECT_GE(model.error(), 0.5);
  for (const char first : {'1', '2', '3'})
    for (const char second : {'1', '2', '3'})
      for (const char third : {'1', '2', '3'}) {
        const std::string kind = {'l', first, second, third};
        model.learn(kind, 1e-4 * (first - '0' + second - '0' + third - '0'));
      }
  EXPECT_LT(model.error(), 0.5);
}

TEST(AccessModel, TellsConfigurationsApartByWhatIsDoneToTensors) {
  const FusedRun run = some_run();
  const FusedKernel& bei = *fused_kernel("bei");
  FusedChoice choice;
  for (const FusedColumn& column : bei.columns) choice.layouts[column.name] = "bji";
  choice.specials = {{"dv", 'i'}, {"dt", 'b'}};
  const std::string direct = kind_of(bei, choice, run);
  choice.layouts["dx"] = "ibj";
  const std::string transposed = kind_of(bei, choice, run);
  EXPECT_EQ(direct.substr(0, 4), "l111");
  EXPECT_EQ(transposed.substr(0, 4), "l112");
}

TEST(PossibleLayouts, AreThoseThatContractionsAndTiesLeave) {
  const Graph graph = encoder_graph(Sizes::encoder(8, 512, 16, 1024, 4096));
  const auto possible = possible_layouts(graph);
  EXPECT_EQ(possible.at("X"), possible.at("DX"));
  EXPECT_EQ(possible.at("LN1").size(), 6U);  // no contraction sees it
  EXPECT_EQ(possible.at("SB1_LINW1"), (std::set<std::string>{"bju", "jbu", "ubj", "ujb"}));
  for (const std::string& stack : possible.at("WKKWQQWVV")) EXPECT_EQ(stack[0], 'q');
  for (const auto& [variable, layouts] : possible) EXPECT_FALSE(layouts.empty()) << variable;
}

}  // namespace
}  // namespace orrery::tuning
