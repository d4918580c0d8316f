#include "orrery/scenario/map_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "orrery/nest/model.h"

namespace orrery::scenario {
namespace {

using formats::timeloop::Documents;

constexpr const char* kChip = R"(
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

constexpr const char* kProblem = R"(
problem:
  version: 0.4
  shape:
    name: product
    dimensions: [E, D, L]
    data_spaces:
    - {name: Weights, projection: [[[E]], [[D]]]}
    - {name: Inputs, projection: [[[E]], [[L]]]}
    - {name: Outputs, projection: [[[D]], [[L]]], read_write: True}
  instance: {E: 8, D: 8, L: 8}
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

TEST(MapLayers, EqualEinsumsAreSearchedOnceAndKeepTheirNamesAndInstances) {
  const Documents chip = documents(kChip);
  std::vector<std::string> searched;
  MapOptions options;
  options.progress = [&](std::size_t, std::size_t, const std::string& name) { searched.push_back(name); };
  const MappedModel mapped =
      map_layers({task("a", chip, workload::matmul("a", 8, 8, 8), 2), task("b", chip, workload::matmul("b", 4, 8, 16)),
                  task("c", chip, workload::matmul("c", 8, 8, 8), 5)},
                 options);
  EXPECT_EQ(searched, (std::vector<std::string>{"a", "b"}));
  ASSERT_TRUE(mapped.layers[2].found());
  EXPECT_EQ(mapped.layers[2].name, "c");
  EXPECT_EQ(mapped.layers[2].einsum.name, "c");
  EXPECT_EQ(mapped.layers[2].instances, 5);
  EXPECT_EQ(mapped.layers[2].optimum.mapping, mapped.layers[0].optimum.mapping);
}

TEST(MapLayers, AddsTheFrontTheForcedChoiceAndTheCheckWhenAsked) {
  const Documents chip = documents(kChip);
  const std::vector<LayerTask> tasks{task("a", chip, workload::matmul("a", 8, 8, 8))};
  const MappedModel plain = map_layers(tasks, {});
  EXPECT_FALSE(plain.layers[0].front || plain.layers[0].forced || plain.layers[0].certified);
  MapOptions options;
  options.front = options.certify = true;
  options.why = "Rows.D=2";
  const MappedModel mapped = map_layers(tasks, options);
  const MappedLayer& layer = mapped.layers[0];
  EXPECT_EQ(layer.optimum.mapping, plain.layers[0].optimum.mapping);
  ASSERT_TRUE(layer.front && layer.forced && layer.certified);
  EXPECT_TRUE(layer.certified->agrees) << layer.certified->complaint;
  ASSERT_TRUE(layer.forced->optimum.mapping);
  EXPECT_GE(layer.forced->optimum.evaluation.edp_j_cycles, layer.optimum.evaluation.edp_j_cycles);
  const int rows = layer.chip.storage_index("inter_Rows_spatial"), d = layer.einsum.dimension_index("D");
  EXPECT_EQ(layer.forced->optimum.mapping->levels[rows].spatial[d], 2);
  ASSERT_FALSE(layer.front->points.empty());
  double least = layer.front->points[0].evaluation.edp_j_cycles;
  for (const nest::Optimum& point : layer.front->points) least = std::min(least, point.evaluation.edp_j_cycles);
  EXPECT_NEAR(least, layer.optimum.evaluation.edp_j_cycles, 1e-11 * least);
}

TEST(MapLayers, AForcedChoiceThatCannotBeIsExplained) {
  const Documents chip = documents(kChip);
  MapOptions options;
  options.why = "Rows.D=3";
  const MappedModel mapped = map_layers({task("a", chip, workload::matmul("a", 8, 8, 8))}, options);
  ASSERT_TRUE(mapped.layers[0].found());
  EXPECT_TRUE(mapped.layers[0].forced->optimum.infeasible);
  EXPECT_EQ(mapped.layers[0].forced->optimum.conflicts.size(), 1u);
}

TEST(MapLayers, AnswersDoNotDependOnThreads) {
  const Documents chip = documents(kChip);
  std::vector<LayerTask> tasks;
  for (base::Count d : {4, 8, 12, 16, 24}) tasks.push_back(task("layer", chip, workload::matmul("layer", d, 8, 6)));
  MapOptions options;
  options.limits.threads = 1;
  const MappedModel alone = map_layers(tasks, options);
  options.limits.threads = 3;
  const MappedModel together = map_layers(tasks, options);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    ASSERT_TRUE(alone.layers[i].found());
    EXPECT_TRUE(alone.layers[i].optimum.certificate.optimal);
    EXPECT_EQ(alone.layers[i].optimum.mapping, together.layers[i].optimum.mapping) << i;
    EXPECT_EQ(alone.layers[i].optimum.evaluation.energy_pj, together.layers[i].optimum.evaluation.energy_pj) << i;
  }
}

TEST(MapLayers, EvaluatesItsOwnAnswerToTheSameDigits) {
  const Documents both = documents(std::string(kChip) + kProblem);
  LayerTask only;
  only.documents = &both;
  const MappedModel mapped = map_layers({only}, {});
  const MappedLayer& layer = mapped.layers.at(0);
  EXPECT_EQ(layer.name, "product") << "a task without a name is called as its problem";
  ASSERT_TRUE(layer.found());
  const nest::Evaluation again =
      nest::evaluate(layer.einsum, layer.chip, *layer.optimum.mapping, nest::ModelOptions{}, layer.reuse);
  EXPECT_EQ(again.energy_pj, layer.optimum.evaluation.energy_pj);
  EXPECT_EQ(again.cycles, layer.optimum.evaluation.cycles);
}

TEST(MapLayers, TheCallersObjectiveWinsOverTheDocuments) {
  const Documents chip = documents(std::string(kChip) + "mapper: {version: 0.4, optimization_metrics: [delay]}\n");
  const std::vector<LayerTask> tasks = {task("a", chip, workload::matmul("a", 4, 4, 4))};
  EXPECT_EQ(map_layers(tasks, {}).layers[0].objective, std::vector<nest::Metric>{nest::Metric::kDelay});
  MapOptions options;
  options.objective = {nest::Metric::kEnergy};
  EXPECT_EQ(map_layers(tasks, options).layers[0].objective, options.objective);
}

TEST(MapLayers, AnErrorOfTheChipIsReportedOnceForAllLayers) {
  std::string text = kChip;
  text.replace(text.find("meshY: 4"), 8, "meshY: -");
  try {
    const Documents chip = documents(text);
    map_layers({task("a", chip, workload::matmul("a", 4, 4, 4)), task("b", chip, workload::matmul("b", 8, 4, 4))}, {});
    FAIL() << "accepted";
  } catch (const base::InputError& error) {
    std::vector<std::string> found = codes(error);
    std::sort(found.begin(), found.end());
    EXPECT_EQ(std::adjacent_find(found.begin(), found.end()), found.end());
  }
}

TEST(MapLayers, SaysWhichPartIsMissing) {
  const Documents chip = documents(kChip);
  LayerTask no_problem;
  no_problem.documents = &chip;
  try {
    map_layers({no_problem}, {});
    FAIL() << "accepted";
  } catch (const base::InputError& error) {
    EXPECT_EQ(codes(error), std::vector<std::string>{"O1003"});
  }
}

TEST(MapLayers, InputsAreSortedAndNamedOnce) {
  const auto file = [](std::string name, std::string text) {
    return std::make_shared<const base::SourceFile>(base::SourceFile{std::move(name), std::move(text)});
  };
  const Documents chip = Documents::gather({file("z.yaml", kChip), file("a.yaml", kProblem)}, {});
  LayerTask both;
  both.documents = &chip;
  const auto inputs = map_layers({both, both}, {}).inputs;
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0].first, "a.yaml");
  EXPECT_EQ(inputs[1].first, "z.yaml");
}

TEST(EvaluateMapping, PricesAGivenMapping) {
  const MappedModel mapped =
      evaluate_mapping("", documents(std::string(kChip) + kProblem + kMapping), nest::ModelOptions{}, false);
  ASSERT_EQ(mapped.layers.size(), 1u);
  EXPECT_FALSE(mapped.layers[0].searched);
  EXPECT_EQ(mapped.layers[0].optimum.evaluation.compute.operations, 512);
  EXPECT_GE(mapped.layers[0].optimum.evaluation.cycles, 128);
}

TEST(EvaluateMapping, RefusesWhatCannotRunAsAnAnswerNotAsBadInput) {
  std::string text = std::string(kChip) + kProblem + kMapping;
  text.replace(text.find("depth: 64,"), 10, "depth: 16,");
  EXPECT_THROW(evaluate_mapping("", documents(text), nest::ModelOptions{}, false), IllegalMapping);
}

TEST(EvaluateMapping, HoldsTheConstraintsOnlyWhenStrict) {
  const std::string text = std::string(kChip) + kProblem + kMapping +
                           "constraints:\n  targets:\n  - {target: Buffer, type: temporal, factors: [E=2]}\n";
  EXPECT_NO_THROW(evaluate_mapping("", documents(text), nest::ModelOptions{}, false));
  EXPECT_THROW(evaluate_mapping("", documents(text), nest::ModelOptions{}, true), IllegalMapping);
}

MappedLayer costing(double energy_pj, base::Count cycles, base::Count instances) {
  MappedLayer layer;
  layer.instances = instances;
  layer.optimum.mapping.emplace();
  layer.optimum.evaluation.energy_pj = energy_pj;
  layer.optimum.evaluation.cycles = cycles;
  layer.optimum.evaluation.edp_j_cycles = energy_pj * static_cast<double>(cycles) / 1e12;
  return layer;
}

TEST(Totals, CountInstancesAndMultiplyTheSums) {
  MappedLayer missing = costing(1e9, 1000, 1);
  missing.optimum.mapping.reset();
  const Totals sum = totals({costing(10, 100, 2), costing(5, 10, 3), missing});
  EXPECT_EQ(sum.energy_pj, 35);
  EXPECT_EQ(sum.cycles, 230);
  EXPECT_DOUBLE_EQ(sum.edp_j_cycles, 35 * 230 / 1e12);
  EXPECT_DOUBLE_EQ(sum.edp_seed, (2 * 1000 + 3 * 50) / 1e12);
  const Totals all = times(sum, 10);
  EXPECT_EQ(all.cycles, 2300);
  EXPECT_DOUBLE_EQ(all.edp_j_cycles, 350 * 2300.0 / 1e12);
}

TEST(Totals, RefuseCyclesBeyond64Bits) {
  const base::Count many = base::Count{1} << 40;
  const auto refusal = [](const auto& count) {
    try {
      count();
    } catch (const base::InputError& error) {
      return error.diagnostics.at(0).code + ": " + error.diagnostics.at(0).notes.at(0);
    }
    return std::string("counted");
  };
  EXPECT_EQ(
      refusal([&] { totals({costing(1, 3, many * 4194304)}); }),
      "O1004: 4611686018427387904 instances * 3 cycles exceeds 9223372036854775807, the largest count of 64 bits");
  const MappedLayer half = costing(1, many, many / 262144);
  EXPECT_EQ(refusal([&] { totals({half}); }), "counted");
  EXPECT_EQ(refusal([&] {
              totals({half, half});
            }),
            "O1004: 4611686018427387904 cycles of the layers before `` + 4611686018427387904 of it exceeds "
            "9223372036854775807, the largest count of 64 bits");
  EXPECT_EQ(
      refusal([&] { times(totals({costing(1, many, 1)}), many); }),
      "O1004: 1099511627776 blocks * 1099511627776 cycles exceeds 9223372036854775807, the largest count of 64 bits");
}

}  // namespace
}  // namespace orrery::scenario
