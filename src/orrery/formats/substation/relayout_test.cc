// Re-layouts between operators: never dearer than a choice without, nothing at no bandwidth to speak of, and on small
// tables what going through everything finds.
#include <filesystem>
#include <random>

#include <gtest/gtest.h>
#include <source_dir.h>

#include "orrery/formats/substation/folder.h"
#include "orrery/runtime/tuning/selection/factor_graph_test_util.h"
#include "orrery/runtime/tuning/selection/relayout.h"

namespace orrery::formats::substation {
namespace {

const tuning::Graph& encoder_graph() {
  static const tuning::Graph one = tuning::encoder_graph(tuning::Sizes::encoder(8, 512, 16, 1024, 4096));
  return one;
}

tuning::Measurements example() {
  base::Diagnostics warnings;
  return read_folder((std::filesystem::path(ORRERY_SOURCE_DIR) / "examples/substation").string(), encoder_graph(), 1,
                     warnings);
}

tuning::RelayoutSelection best(const tuning::Problem& problem, double bytes_per_s) {
  const tuning::RelayoutProblem with = tuning::with_relayouts(problem, bytes_per_s);
  const tuning::Minimum found = tuning::minimize(with.factors, {});
  EXPECT_TRUE(found.found && found.proven());
  const auto out = tuning::evaluate(problem, with, found.values);
  EXPECT_TRUE(out);
  base::Count sum = 0;
  for (const auto& one : out->operators) sum += one.time;
  for (const auto& one : out->relayouts) sum += one.time;
  EXPECT_EQ(sum, out->time);
  EXPECT_EQ(out->time, found.cost);
  return *out;
}

TEST(Relayouts, AreNeverDearerThanNoneAndCheaperWithMoreBandwidth) {
  const tuning::Measurements measured = example();
  const tuning::Problem problem = tuning::make_problem(encoder_graph(), measured);
  const base::Count plain = tuning::minimize(problem.factors, {}).cost;
  base::Count before = plain;
  for (const double gb_per_s : {1e-2, 1.0, 1e3, 1e4, 1e5, 1e9}) {
    const tuning::RelayoutSelection with = best(problem, gb_per_s * 1e9);
    EXPECT_LE(with.time, before) << gb_per_s;
    EXPECT_GE(with.time, tuning::without_layouts(problem));
    if (gb_per_s < 1) {
      EXPECT_EQ(with.time, plain);
      EXPECT_TRUE(with.relayouts.empty());
    }
    before = with.time;
  }
  EXPECT_LT(before, plain);  // what costs nothing is taken
}

TEST(Relayouts, CostReadingAndWritingTheTensorOnce) {
  const tuning::Measurements measured = example();
  const tuning::Problem problem = tuning::make_problem(encoder_graph(), measured);
  const tuning::RelayoutProblem with = tuning::with_relayouts(problem, 900e9);
  const tuning::Sizes& sizes = measured.sizes;
  int seen = 0;
  for (const tuning::RelayoutEdge& edge : with.edges) {
    EXPECT_NE(edge.variable, "X");      // nothing of the layer makes it
    EXPECT_NE(edge.variable, "LINW1");  // a weight
    if (edge.variable != "DROP2") continue;
    ++seen;
    const double bytes = 2.0 * 2.0 * static_cast<double>(sizes['b'] * sizes['j'] * sizes['u']);
    EXPECT_NEAR(static_cast<double>(edge.cost), bytes / 900e9 * 1e15, 1.0);
  }
  EXPECT_EQ(seen, 2);  // lin2 and dWlin2 read it
}

// One tensor made by a and read by b: going through all pairs of layouts.
TEST(Relayouts, EqualBruteForceOnSmallGraphs) {
  std::mt19937_64 draw(7);
  for (int round = 0; round < 200; ++round) {
    tuning::Graph small;
    small.sizes['b'] = 2 + static_cast<base::Count>(draw() % 7);
    small.sizes['j'] = 2 + static_cast<base::Count>(draw() % 7);
    small.variables = {{"A", "bj", tuning::Role::kInput}, {"T", "bj"}, {"O", "bj", tuning::Role::kOutput}};
    tuning::Measurements measured;
    measured.sizes = small.sizes;
    const auto add = [&](const std::string& name, const std::string& in, const std::string& out) {
      tuning::Operator op{.name = name, .benchmarks = {name}};
      op.inputs = {{in, "in", "bj"}};
      op.outputs = {{out, "out", "bj"}};
      small.operators.push_back(op);
      tuning::Measured table;
      table.benchmark = name;
      table.columns = {{"in", {"bj", "jb"}}, {"out", {"bj", "jb"}}};
      for (std::uint16_t x = 0; x < 2; ++x)
        for (std::uint16_t y = 0; y < 2; ++y) {
          table.layouts.push_back(x);
          table.layouts.push_back(y);
          table.times.push_back(1 + static_cast<base::Count>(draw() % 200'000));
        }
      measured.tables.emplace(name, std::move(table));
    };
    add("first", "A", "T");
    add("second", "T", "O");
    const tuning::Problem problem = tuning::make_problem(small, measured);
    const double bytes_per_s = 1e12;
    const auto move = static_cast<base::Count>(4 * small.sizes['b'] * small.sizes['j'] * 1000);  // fs
    base::Count least = tuning::kMostCost;
    const auto& first = measured.tables.find("first")->second.times;
    const auto& second = measured.tables.find("second")->second.times;
    for (std::size_t a = 0; a < 4; ++a)
      for (std::size_t b = 0; b < 4; ++b) least = std::min(least, first[a] + second[b] + (a % 2 == b / 2 ? 0 : move));
    const tuning::RelayoutSelection found = best(problem, bytes_per_s);
    ASSERT_EQ(found.time, least);
    const auto all = tuning::brute_force(tuning::with_relayouts(problem, bytes_per_s).factors);
    ASSERT_TRUE(all);
    ASSERT_EQ(*all, least);
  }
}

}  // namespace
}  // namespace orrery::formats::substation
