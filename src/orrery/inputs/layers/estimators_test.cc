#include "orrery/inputs/layers/estimators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include <source_dir.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/describe/energy/technology.h"
#include "orrery/formats/accelergy/catalogue_tables.h"
#include "orrery/formats/cacti/cacti_errors.h"
#include "orrery/formats/timeloop/documents/documents.h"
#include "orrery/formats/yaml/node.h"
#include "orrery/inputs/layers/map_model.h"
#include "orrery/inputs/layers/products_test_util.h"
#include "orrery/inputs/layers/read_layers.h"

namespace orrery::verbs {
namespace {

using formats::timeloop::Documents;
using formats::timeloop::ReadOptions;
using formats::timeloop::Specification;
using testing::kProductDocument;

constexpr const char* kChip = R"(
variables: {version: 0.4, technology: "32nm", global_cycle_seconds: 1.2e-9}
architecture:
  version: 0.4
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {datawidth: 8, width: 64}}
  - !Component {name: Buffer, class: SRAM, attributes: {depth: 4096, width: 32, datawidth: 8, n_banks: 2}}
  - !Container {name: Rows, spatial: {meshY: 4}}
  - !Component {name: MAC, class: mac}
compound_components:
  version: 0.4
  classes:
  - name: mac
    subcomponents:
    - {name: adder, class: aladdin_adder, attributes: {width: 32}}
    actions:
    - {name: compute, subcomponents: [{name: adder, actions: [{name: read, action_share: 16}]}]}
)";

Specification chip(const EstimatorSetup& setup = {}, std::string text = kChip) {
  ReadOptions options;
  options.estimate = setup.options();
  return Documents::gather({base::source(std::move(text), "chip.yaml")}, options).read();
}

const energy::EstimatedComponent& component(const Estimates& estimates, const std::string& name) {
  const auto found = std::find_if(estimates->begin(), estimates->end(),
                                  [&](const energy::EstimatedComponent& one) { return one.name == name; });
  if (found == estimates->end()) throw std::out_of_range(name);
  return *found;
}

double energy_of(const energy::EstimatedComponent& component, const std::string& action) {
  for (const energy::EstimatedAction& one : component.actions)
    if (one.name == action) return one.energy_pj;
  throw std::out_of_range(action);
}

TEST(Estimators, PriceAChipFromTheCatalogueAlone) {
  Specification specification = chip();
  Estimators estimators({});
  const Estimates estimates = complete(specification, estimators);
  ASSERT_NE(estimates, nullptr);
  // Figures of Accelergy with its plug-ins for the same descriptions.
  EXPECT_NEAR(energy_of(component(estimates, "DRAM"), "read"), 512, 1e-9);
  EXPECT_NEAR(energy_of(component(estimates, "Buffer"), "read"), 4.54186, 5e-5);
  EXPECT_NEAR(component(estimates, "Buffer").area_um2, 29675.5, 0.5);
  const int buffer = specification.chip->storage_index("Buffer");
  ASSERT_GE(buffer, 0);
  EXPECT_EQ(specification.chip->storages[static_cast<std::size_t>(buffer)].energy.read_pj,
            energy_of(component(estimates, "Buffer"), "read"));
  EXPECT_EQ(specification.chip->storages[static_cast<std::size_t>(buffer)].area_um2,
            component(estimates, "Buffer").area_um2);
}

TEST(Estimators, StateBeyondCactisNodesTheLargestDisagreementOfTheTwoScalingRules) {
  base::Diagnostics found;
  const std::string tables = std::string(ORRERY_SOURCE_DIR) + "/catalog/tables";
  const auto nodes = formats::accelergy::read_catalogue_tables(tables, found).nodes;
  const auto errors = formats::cacti::read_sram_errors(formats::yaml::read_file(tables + "/sram_errors.csv"), found);
  ASSERT_FALSE(found.has_errors());
  const auto stated = [&](energy::SramErrorKind kind) {
    for (const energy::SramErrorRow& row : errors.rows())
      if (row.kind == kind) return row.percent;
    return energy::SramFigures{};
  };
  const auto check = [&](energy::SramErrorKind kind, double from, const std::vector<double>& to, double power) {
    double energies = 0, areas = 0;
    for (const double nm : to) {
      const double rule = std::pow(nm / from, power);
      energies = std::max(energies, 100 * std::fabs(rule / energy::energy_factor(nodes, from, nm).value() - 1));
      areas = std::max(areas, 100 * std::fabs(rule / energy::area_factor(nodes, from, nm).value() - 1));
    }
    const energy::SramFigures percent = stated(kind);
    // Up to a tenth.
    for (const energy::SramFigure figure : {energy::kRead, energy::kWrite, energy::kLeak, energy::kArea}) {
      const double largest = figure == energy::kArea ? areas : energies;
      EXPECT_GE(percent[figure], largest) << figure;
      EXPECT_LT(percent[figure], largest + 0.1) << figure;
    }
  };
  check(energy::SramErrorKind::kBelow, 22, {20, 16, 14, 10, 7}, 1);
  check(energy::SramErrorKind::kAbove, 90, {130}, 2);
}

TEST(Estimators, CountSharesAndLeaveFanOutsFreeUnlessAccelergyIsToBeReproduced) {
  EstimatorSetup theirs;
  base::reproduce(energy::kDefects, "accelergy-0.4", theirs.reproduced);
  Estimators ours_estimators({}), their_estimators(theirs);
  Specification ours = chip(), as_theirs = chip(theirs);
  const Estimates right = complete(ours, ours_estimators);
  const Estimates compat = complete(as_theirs, their_estimators);
  EXPECT_NEAR(energy_of(component(compat, "MAC"), "compute"), 0.138461, 1e-6);
  EXPECT_NEAR(energy_of(component(right, "MAC"), "compute"), 16 * 0.138461, 1e-4);
  EXPECT_EQ(component(right, "inter_Rows_spatial").area_um2, 0);
  EXPECT_EQ(component(compat, "inter_Rows_spatial").area_um2, 1);
}

TEST(Estimators, EstimateEqualArchitecturesOnce) {
  Estimators estimators({});
  const Specification first = chip(), again = chip();
  base::Diagnostics found;
  const Estimates one = estimators.estimate(first.components, found);
  EXPECT_EQ(one, estimators.estimate(again.components, found));
  std::string wider = kChip;
  wider.replace(wider.find("depth: 4096"), 11, "depth: 8192");
  EXPECT_NE(one, estimators.estimate(chip({}, wider).components, found));
  EXPECT_FALSE(found.has_errors());
}

TEST(Estimators, RefuseWhatNobodyKnowsEachTimeItComes) {
  std::string text = kChip;
  text.replace(text.find("class: aladdin_adder"), 20, "class: aladin_adder");
  Estimators estimators({});
  const Specification specification = chip({}, text);
  for (int time = 0; time < 2; ++time) {
    base::Diagnostics found;
    EXPECT_EQ(estimators.estimate(specification.components, found), nullptr);
    ASSERT_TRUE(found.has_errors());
    EXPECT_EQ(found.all().back().code, "O1201");
  }
}

TEST(Estimators, ReadNothingForAChipWithAnErt) {
  EstimatorSetup setup;
  setup.tables = {"/there/is/no/such/folder"};
  Estimators estimators(setup);
  Specification specification = chip({}, std::string(kChip) + R"(
ERT:
  version: 0.4
  tables:
  - {name: 'DRAM[1..1]', actions: [{name: read, energy: 512}, {name: write, energy: 512}, {name: update, energy: 512}]}
  - {name: 'Buffer[1..1]', actions: [{name: read, energy: 8}, {name: write, energy: 8}, {name: update, energy: 8}]}
  - {name: 'MAC[1..4]', actions: [{name: compute, energy: 0.25}]}
)");
  EXPECT_EQ(complete(specification, estimators), nullptr);
  base::Diagnostics said;
  mention_unused(setup, said);
  ASSERT_EQ(said.all().size(), 1u);
  EXPECT_EQ(said.all()[0].code, "O1261");
}

TEST(Estimators, MapARawChipAtTheSameCostAsWithItsTables) {
  Specification specification = chip();
  Estimators estimators({});
  const Estimates estimates = complete(specification, estimators);
  std::string ert = "ERT:\n  version: 0.4\n  tables:\n";
  for (const energy::EstimatedComponent& one : *estimates) {
    if (one.actions.empty()) continue;
    ert += "  - name: " + one.name + "\n    actions:\n";
    for (const energy::EstimatedAction& action : one.actions)
      ert += "    - {name: " + action.name + ", energy: " + energy::text(energy::Value(action.energy_pj)) + "}\n";
  }
  const auto best = [](const std::vector<std::shared_ptr<const base::SourceFile>>& files) {
    const Documents documents = Documents::gather(files, {});
    LayerTask task;
    task.documents = &documents;
    Estimators own({});
    return map_layers(read_layers({task}, own).questions, {}).layers.at(0);
  };
  const auto raw = base::source(kChip, "chip.yaml"), problem = base::source(kProductDocument, "problem.yaml");
  const MappedLayer estimated = best({raw, problem});
  const MappedLayer given = best({raw, problem, base::source(ert, "ERT.yaml")});
  EXPECT_NE(estimated.estimates, nullptr);
  EXPECT_EQ(given.estimates, nullptr);
  EXPECT_EQ(estimated.optimum.evaluation.energy_pj, given.optimum.evaluation.energy_pj);
  EXPECT_EQ(estimated.optimum.evaluation.cycles, given.optimum.evaluation.cycles);
}

}  // namespace
}  // namespace orrery::verbs
