#include "orrery/inputs/layers/read_layers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "orrery/inputs/layers/evaluate_layer.h"
#include "orrery/inputs/layers/products_test_util.h"

namespace orrery::verbs {
namespace {

using formats::timeloop::Documents;
using testing::kProductDocument;

constexpr const char* kReadLayersChip = R"(
architecture:
  version: 0.4
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {datawidth: 8, width: 64, read_bandwidth: 4}}
  - !Component {name: Buffer, class: SRAM, attributes: {depth: 64, width: 8, datawidth: 8}}
  - !Container {name: Rows, spatial: {meshY: 4}}
  - !Component {name: Registers, class: SRAM, attributes: {depth: 4, width: 8, datawidth: 8}}
  - !Component {name: MAC, class: intmac}
ERT:
  version: 0.4
  tables:
  - {name: 'DRAM[1..1]', actions: [{name: read, energy: 512}, {name: write, energy: 512}, {name: update, energy: 512}]}
  - {name: 'Buffer[1..1]', actions: [{name: read, energy: 8}, {name: write, energy: 8}, {name: update, energy: 8}]}
  - {name: 'Registers[1..4]', actions: [{name: read, energy: 0.1}, {name: write, energy: 0.1}, {name: update, energy: 0.1}]}
  - {name: 'MAC[1..4]', actions: [{name: compute, energy: 0.25}]}
)";

// E=2 in DRAM, D=4 over the rows, the rest in the buffer.
constexpr const char* kMapping = R"(
mapping:
- {target: Registers, type: dataspace, keep: [Weights], bypass: [Inputs, Outputs]}
- {target: DRAM, type: temporal, factors: [E=2, D=2, L=8], permutation: [E, D, L]}
- {target: Buffer, type: temporal, factors: [E=4, D=1, L=1], permutation: [L, E, D]}
- {target: Rows, type: spatial, factors: [E=1, D=4, L=1], permutation: [D, E, L], split: 0}
- {target: Registers, type: temporal, factors: [E=1, D=1, L=1], permutation: [L, E, D]}
)";

Documents documents(const std::string& text) {
  return Documents::gather({std::make_shared<const base::SourceFile>(base::SourceFile{"test.yaml", text})}, {});
}

LayerTask task(std::string name, const Documents& chip, workload::Einsum einsum, base::Count instances = 1) {
  LayerTask out;
  out.name = std::move(name);
  out.documents = &chip;
  out.einsum = std::move(einsum);
  out.instances = instances;
  return out;
}

std::vector<std::string> codes(const base::InputError& error) {
  std::vector<std::string> out;
  for (const base::Diagnostic& diagnostic : error.diagnostics) out.push_back(diagnostic.code);
  return out;
}

ReadLayers read(const std::vector<LayerTask>& tasks) {
  Estimators estimators({});
  return read_layers(tasks, estimators);
}

MappedLayer evaluated(const std::string& text, bool strict = false) {
  Estimators estimators({});
  const ReadMapping given = read_mapping(documents(text), estimators);
  return evaluate_layer(given.question, given.mapping, given.places, {}, strict);
}

TEST(ReadLayers, ShareTheChipAndHaveConstraintsOfTheirOwn) {
  const Documents chip = documents(std::string(kReadLayersChip) +
                                   "constraints:\n  targets:\n  - {target: Rows, type: spatial, maximize_dims: [[D]]}\n"
                                   "mapper: {version: 0.4, optimization_metrics: [delay]}\n");
  const ReadLayers layers =
      read({task("a", chip, workload::matmul("a", 4, 4, 4), 3), task("b", chip, workload::matmul("b", 2, 4, 4))});
  ASSERT_EQ(layers.questions.size(), 2u);
  const LayerQuestion &a = layers.questions[0], &b = layers.questions[1];
  EXPECT_EQ(a.chip, b.chip);
  EXPECT_EQ(a.chip->storages[0].energy.read_pj, 0.1);
  EXPECT_EQ(a.instances, 3);
  EXPECT_EQ(a.objective, std::vector<nest::Metric>{nest::Metric::kDelay});
  const auto factor = [](const LayerQuestion& question) {
    const int d = question.einsum.dimension_index("D");
    for (const nest::Constraint& one : question.space.constraints)
      if (one.kind == nest::Constraint::Kind::kFactor && one.spatial && one.dimension == d && one.value > 1)
        return one.value;
    return base::Count{0};
  };
  EXPECT_EQ(factor(a), 4);
  EXPECT_EQ(factor(b), 2);
}

TEST(ReadLayers, ATaskWithoutANameIsCalledAsItsProblem) {
  const Documents both = documents(std::string(kReadLayersChip) + kProductDocument);
  LayerTask only;
  only.documents = &both;
  EXPECT_EQ(read({only}).questions.at(0).name, "product");
}

TEST(ReadLayers, AnErrorOfTheChipIsReportedOnceForAllLayers) {
  std::string text = kReadLayersChip;
  text.replace(text.find("meshY: 4"), 8, "meshY: -");
  try {
    const Documents chip = documents(text);
    read({task("a", chip, workload::matmul("a", 4, 4, 4)), task("b", chip, workload::matmul("b", 8, 4, 4))});
    FAIL() << "accepted";
  } catch (const base::InputError& error) {
    std::vector<std::string> found = codes(error);
    std::sort(found.begin(), found.end());
    EXPECT_EQ(std::adjacent_find(found.begin(), found.end()), found.end());
  }
}

TEST(ReadLayers, SaysWhichPartIsMissing) {
  const Documents chip = documents(kReadLayersChip);
  LayerTask no_problem;
  no_problem.documents = &chip;
  try {
    read({no_problem});
    FAIL() << "accepted";
  } catch (const base::InputError& error) {
    EXPECT_EQ(codes(error), std::vector<std::string>{"O1003"});
  }
}

TEST(ReadLayers, InputsAreSortedAndNamedOnce) {
  const auto file = [](std::string name, std::string text) {
    return std::make_shared<const base::SourceFile>(base::SourceFile{std::move(name), std::move(text)});
  };
  const Documents chip = Documents::gather({file("z.yaml", kReadLayersChip), file("a.yaml", kProductDocument)}, {});
  LayerTask both;
  both.documents = &chip;
  const auto inputs = read({both, both}).inputs;
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0].name, "a.yaml");
  EXPECT_EQ(inputs[1].name, "z.yaml");
}

TEST(EvaluateLayer, PricesTheMappingOfTheDocuments) {
  const MappedLayer layer = evaluated(std::string(kReadLayersChip) + kProductDocument + kMapping);
  EXPECT_FALSE(layer.searched);
  EXPECT_EQ(layer.optimum.evaluation.compute.operations, 512);
  EXPECT_GE(layer.optimum.evaluation.cycles, 128);
}

TEST(EvaluateLayer, RefusesWhatCannotRunAsAnAnswerNotAsBadInput) {
  std::string text = std::string(kReadLayersChip) + kProductDocument + kMapping;
  text.replace(text.find("depth: 64,"), 10, "depth: 16,");
  EXPECT_THROW(evaluated(text), IllegalMapping);
}

TEST(EvaluateLayer, HoldsTheConstraintsOnlyWhenStrict) {
  const std::string text = std::string(kReadLayersChip) + kProductDocument + kMapping +
                           "constraints:\n  targets:\n  - {target: Buffer, type: temporal, factors: [E=2]}\n";
  EXPECT_NO_THROW(evaluated(text));
  EXPECT_THROW(evaluated(text, true), IllegalMapping);
}

}  // namespace
}  // namespace orrery::verbs
