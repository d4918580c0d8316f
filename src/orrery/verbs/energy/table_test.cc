#include "orrery/verbs/energy/table.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "orrery/present/schema_check_test_util.h"
#include "orrery/verbs/energy/json.h"
#include "orrery/verbs/energy/origin_text.h"

namespace orrery::verbs {
namespace {

energy::Share share(double weight, double value, energy::Basis basis, std::optional<double> error,
                    const std::string& source) {
  energy::Share one;
  one.primitive = "Buffer.rows";
  one.weight = weight;
  one.figure.value = value;
  one.figure.accuracy_percent = 80;
  one.figure.expected_error_percent = error;
  one.figure.basis = basis;
  one.figure.estimator = "sram";
  one.figure.source = source;
  return one;
}

std::vector<energy::EstimatedComponent> components() {
  energy::EstimatedComponent buffer;
  buffer.name = "Buffer";
  buffer.table_name = "System_top_level.Buffer[1..4]";
  buffer.class_name = "buffer";
  buffer.count = 4;
  buffer.area_um2 = 1000;
  buffer.area_accuracy_percent = 80;
  buffer.area_source = "sram: rows";
  buffer.area_shares = {share(1, 1000, energy::Basis::kInterpolated, 2, "between rows")};
  const auto shares = {share(1, 3, energy::Basis::kInterpolated, 4, "between rows"),
                       share(2, 0.5, energy::Basis::kPublished, std::nullopt, "a book")};
  for (base::Count destinations = 1; destinations <= 3; ++destinations) {
    energy::EstimatedAction action;
    action.name = "transfer";
    action.arguments = {{"global_cycle_seconds", energy::Value(1e-9)}, {"n", energy::Value(destinations)}};
    action.energy_pj = destinations == 3 ? 5 : 4;
    action.accuracy_percent = 80;
    action.source = "sram: between rows; library: a book";
    action.shares = shares;
    buffer.actions.push_back(action);
  }
  return {buffer};
}

TEST(EnergyOrigin, WeighsTheErrorsOfTheAddends) {
  const std::vector<energy::Share> measured = {share(1, 3, energy::Basis::kInterpolated, 4, "between rows"),
                                               share(2, 0.5, energy::Basis::kModelled, 0, "a row")};
  EXPECT_DOUBLE_EQ(expected_error_percent(measured).value(), 3.0 * 4 / (3 + 2 * 0.5));
}

TEST(EnergyOrigin, HasNoErrorWhereOneAddendsWasNotMeasured) {
  EXPECT_EQ(expected_error_percent(components()[0].actions[0].shares), std::nullopt);
  EXPECT_EQ(expected_error_percent({}), std::nullopt);
  const std::vector<energy::Share> unmeasured = {share(1, 3, energy::Basis::kPublished, std::nullopt, "a book")};
  EXPECT_EQ(expected_error_percent(unmeasured), std::nullopt);
}

TEST(EnergyOrigin, NamesEveryBasisOfASum) {
  EXPECT_EQ(bases(components()[0].actions[0].shares), (std::vector<std::string>{"interpolated", "published"}));
}

TEST(EnergyOrigin, NamesBoundsPassedAndRulesOfNodesOnce) {
  energy::Share one = share(1, 3, energy::Basis::kExtrapolated, 4, "a rule");
  one.figure.beyond = {"1 bit is below 8", "7 nm is below 22"};
  one.figure.node_rule = "linear";
  const std::vector<energy::Share> twice{one, share(1, 1, energy::Basis::kModelled, 1, "a row"), one};
  EXPECT_EQ(extrapolations(twice), one.figure.beyond);
  EXPECT_EQ(node_rules(twice), std::vector<std::string>{"linear"});
}

TEST(EnergyTable, SmallErrorsAreNotRoundedToNought) {
  auto exact = components();
  exact[0].area_shares = {share(1, 1000, energy::Basis::kModelled, 0.0005, "a row")};
  const std::string text = energy_table(exact);
  EXPECT_NE(text.find(" 0.0005 "), std::string::npos) << text;
  EXPECT_EQ(text.find(" 0.0 "), std::string::npos) << text;
}

TEST(EnergyTable, PutsEntriesOfEqualEnergyInOneRow) {
  const std::string text = energy_table(components());
  EXPECT_NE(text.find("transfer n=1..2       4"), std::string::npos) << text;
  EXPECT_NE(text.find("transfer n=3          5"), std::string::npos) << text;
}

TEST(EnergyTable, ListsEachSourceOnceWithItsBasis) {
  const std::string text = energy_table(components());
  EXPECT_NE(text.find("1  sram (interpolated, 80 %): between rows\n"), std::string::npos) << text;
  EXPECT_NE(text.find("2  sram (published, 80 %): a book\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("   3  "), std::string::npos) << text;
}

TEST(EnergyTable, CountsInstancesInTheTotalArea) {
  EXPECT_NE(energy_table(components()).find("area of all instances: 0.004 mm^2"), std::string::npos);
}

nlohmann::json document() {
  EstimatedChip chip;
  chip.components = components();
  return checked(energy_document(), chip);
}

TEST(EnergyJson, KeepsTheContract) {
  const nlohmann::json json = document();
  EXPECT_EQ(json["schema"], "orrery.energy/1");
  const nlohmann::json& component = json["result"]["components"][0];
  EXPECT_EQ(component["name"], "Buffer");
  EXPECT_EQ(component["class"], "buffer");
  EXPECT_EQ(component["count"], 4);
  EXPECT_EQ(component["area_um2"], 1000.0);
  const nlohmann::json& action = component["actions"][2];
  EXPECT_EQ(action["name"], "transfer");
  EXPECT_EQ(action["arguments"], (nlohmann::json{{"global_cycle_seconds", 1e-9}, {"n", 3}}));
  EXPECT_EQ(action["energy_pj"], 5.0);
  EXPECT_EQ(action["accuracy_percent"], 80.0);
  EXPECT_TRUE(action["expected_error_percent"].is_null());
  EXPECT_EQ(component["area_expected_error_percent"], 2.0);
  EXPECT_TRUE(action["extrapolated"].empty());
  EXPECT_TRUE(component["area_node_rules"].empty());
  EXPECT_EQ(action["basis"], (nlohmann::json{"interpolated", "published"}));
}

}  // namespace
}  // namespace orrery::verbs
