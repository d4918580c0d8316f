// The measurements, the optimum and the bounds of ../shared/goldens/layer/select, to the last picosecond.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <source_dir.h>
#include <nlohmann/json.hpp>

#include "orrery/formats/substation/folder.h"
#include "orrery/formats/substation/layout_file.h"
#include "orrery/runtime/tuning/selection/consistency.h"
#include "orrery/runtime/tuning/selection/layout_selection.h"
#include "orrery/runtime/tuning/selection/path_modes.h"

namespace orrery::formats::substation {
namespace {

using nlohmann::json;

const std::filesystem::path kGoldens = std::filesystem::path(ORRERY_SOURCE_DIR) / "../shared/goldens/layer/select";
constexpr base::Count kPerPs = 1000;

base::Count total(const tuning::FactorGraph& graph) {
  base::Count out = 0;
  for (const tuning::Factor& factor : graph.factors) out += *std::min_element(factor.costs.begin(), factor.costs.end());
  return out;
}

TEST(SelectGoldens, OptimumBoundsDomainsAndConfigurationsAreTheProvenOnes) {
  if (!std::filesystem::exists(kGoldens)) GTEST_SKIP() << "../shared is not there";
  std::ifstream file(kGoldens / "expected.json");
  const json expected = json::parse(file);
  const tuning::Graph graph = tuning::encoder_graph(tuning::Sizes::encoder(8, 512, 16, 1024, 4096));
  for (const auto& member : expected.items()) {
    const std::string& instance = member.key();
    const json& want = member.value();
    base::Diagnostics warnings;
    const tuning::Measurements measured = read_folder((kGoldens / instance).string(), graph, 2, warnings);
    EXPECT_TRUE(warnings.all().empty());
    const tuning::Problem problem = tuning::make_problem(graph, measured);
    EXPECT_EQ(problem.layouts.size(), want["classes"]);
    const tuning::Minimum found = tuning::minimize(problem.factors, {});
    ASSERT_TRUE(found.proven());
    const auto ps = [&](const char* key) { return want[key].get<base::Count>() * kPerPs; };
    EXPECT_EQ(found.cost, ps("optimum_ps"));
    EXPECT_EQ(tuning::without_layouts(problem), ps("no_layout_bound_ps"));
    tuning::FactorGraph consistent = problem.factors;
    ASSERT_EQ(tuning::make_consistent(consistent, {}), tuning::Consistency::kConsistent);
    EXPECT_EQ(total(consistent), ps("arc_consistent_bound_ps"));
    EXPECT_EQ(tuning::minimize(tuning::direction(problem, false), {}).cost, ps("forward_alone_ps"));
    EXPECT_EQ(tuning::minimize(tuning::direction(problem, true), {}).cost, ps("backward_alone_ps"));
    const auto selection = tuning::evaluate(problem, found.values);
    ASSERT_TRUE(selection);
    base::Count passes[2] = {0, 0};
    for (const tuning::ChosenOperator& one : selection->operators) {
      EXPECT_EQ(one.time, want["operator_ps"][one.name].get<base::Count>() * kPerPs) << one.name;
      passes[one.backward ? 1 : 0] += one.time;
      json specials;
      for (const auto& [name, value] : one.specials) specials[name] = value;
      EXPECT_EQ(specials, want["specials"][one.name]) << one.name;
    }
    EXPECT_EQ(selection->operators.size(), want["operator_ps"].size());
    EXPECT_EQ(passes[0], ps("forward_ps"));
    EXPECT_EQ(passes[1], ps("backward_ps"));
    const auto pair = [&](const std::string& tensor) {
      const auto c = static_cast<std::size_t>(problem.class_named(tensor));
      std::string layout = problem.layouts[c][static_cast<std::size_t>(found.values[c])];
      for (char& letter : layout) letter = static_cast<char>(letter - 'a' + 'A');
      return LayoutPair{tensor, layout, {}};
    };
    EXPECT_EQ(json::parse(layout_text(make_layout_file(graph, *selection, pair))), want["layout_file"]);
    const auto usable = tuning::usable_values(consistent);
    for (const tuning::Variable& variable : graph.variables) {
      const auto c = static_cast<std::size_t>(problem.class_named(variable.name));
      EXPECT_EQ(problem.layouts[c][static_cast<std::size_t>(found.values[c])], want["assignment"][variable.name]);
      json domain = json::array();
      for (const int value : usable[c]) domain.push_back(problem.layouts[c][static_cast<std::size_t>(value)]);
      EXPECT_EQ(domain, want["domains"][variable.name]) << variable.name;
    }
    // Where the original's answer does not depend on the order of its sets, ours is the same.
    const auto of = [&](tuning::Mode mode, const std::vector<std::string>& split) -> std::optional<base::Count> {
      std::vector<int> classes;
      for (const std::string& one : split) classes.push_back(problem.class_named(one));
      const tuning::ModeOutcome outcome = tuning::run_mode(problem, consistent, mode, classes, {});
      if (!outcome.selection) return std::nullopt;
      EXPECT_GE(outcome.selection->time, found.cost);
      return outcome.selection->time;
    };
    const std::tuple<const char*, tuning::Mode, std::vector<std::string>> modes[] = {
        {"fp_first", tuning::Mode::kForwardFirst, {}},
        {"bp_first", tuning::Mode::kBackwardFirst, {}},
        {"combined", tuning::Mode::kCombined, {}},
        {"combined_split_X_DROP2_LN1", tuning::Mode::kCombined, {"X", "DROP2", "LN1"}},
        {"combined_split_X_LN1_LN2_LIN2_DLIN2", tuning::Mode::kCombined, {"X", "LN1", "LN2", "LIN2", "DLIN2"}}};
    for (const auto& [mode_name, mode, split] : modes) {
      const json& runs = want["modes"][mode_name];
      const auto time = of(mode, split);
      EXPECT_EQ(time.has_value(), runs[0]["outcome"] == "valid") << mode_name;
      if (time) {
        EXPECT_EQ(*time, runs[0]["time_ps"].get<base::Count>() * kPerPs) << mode_name;
      }
    }
    for (const auto& [what, wrong] : want["optimum_ps_under_misreadings"].items())
      EXPECT_NE(found.cost, wrong.get<base::Count>() * kPerPs) << what;
  }
}

}  // namespace
}  // namespace orrery::formats::substation
