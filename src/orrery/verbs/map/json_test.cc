#include "orrery/verbs/map/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "orrery/present/schema_check_test_util.h"
#include "orrery/verbs/map/example_layer_test_util.h"

namespace orrery::verbs {
namespace {

using nlohmann::json;

json document(const MappedModel& mapped, base::Count blocks = 0, const std::string& verb = "map") {
  Results results;
  results.mapped = mapped;
  results.blocks = blocks;
  return checked(mapping_document(verb == "map"), results, 1.5);
}

TEST(MapJson, HasTheKeysOfTheContract) {
  MappedModel mapped;
  mapped.layers = {example_layer()};
  mapped.inputs = {{"a.yaml", "00ff"}};
  const json out = document(mapped);
  EXPECT_EQ(out["schema"], "orrery.map/1");
  EXPECT_EQ(out["version"], base::kVersion);
  EXPECT_EQ(out["inputs"], json::parse(R"([{"name": "a.yaml", "hash": "00ff"}])"));
  EXPECT_EQ(out["timing"]["seconds"], 1.5);
  EXPECT_EQ(out["certificate"]["optimal"], true);
  EXPECT_TRUE(out["warnings"].is_array());

  const json& layer = out["result"]["layers"][0];
  for (const char* key :
       {"name", "instances", "energy_pj", "cycles", "utilization", "edp_j_cycles", "levels", "mapping", "certificate"})
    EXPECT_TRUE(layer.contains(key)) << key;
  for (const char* key : {"optimal", "lower_bound", "gap", "space", "evaluated", "seconds", "pruned"})
    EXPECT_TRUE(layer["certificate"].contains(key)) << key;
  for (const json& level : layer["levels"]) {
    for (const char* key : {"name", "kind", "energy_pj", "dataspaces"}) EXPECT_TRUE(level.contains(key)) << key;
    for (const json& traffic : level["dataspaces"])
      for (const char* key : {"reads", "fills", "updates"}) EXPECT_TRUE(traffic.contains(key)) << key;
  }
  for (const char* key : {"energy_pj", "cycles", "edp_j_cycles", "edp_seed"})
    EXPECT_TRUE(out["result"]["total"].contains(key)) << key;
  EXPECT_FALSE(out["result"].contains("blocks")) << "only a model has blocks";
}

TEST(MapJson, LevelsRunOuterToInnerThenComputeAndTheirEnergiesSumToTheLayers) {
  MappedModel mapped;
  mapped.layers = {example_layer()};
  const json layer = document(mapped)["result"]["layers"][0];
  ASSERT_EQ(layer["levels"].size(), 3u);
  EXPECT_EQ(layer["levels"][0]["name"], "DRAM");
  EXPECT_EQ(layer["levels"][1]["name"], "Buffer");
  EXPECT_EQ(layer["levels"][2]["kind"], "compute");
  double sum = 0;
  for (const json& level : layer["levels"]) sum += level["energy_pj"].get<double>();
  EXPECT_NEAR(sum, layer["energy_pj"].get<double>(), 1e-12 * sum);
}

TEST(MapJson, HasAreasAndSaysWhetherFiguresWereGivenOrEstimated) {
  MappedModel mapped;
  mapped.layers = {example_layer()};
  mapped.layers[0].chip.storages[0].area_um2 = 2.5;
  json layer = document(mapped)["result"]["layers"][0];
  EXPECT_EQ(layer["figures"], "given");
  EXPECT_EQ(layer["levels"][1]["area_um2"], 2.5);
  EXPECT_TRUE(layer["levels"][2]["area_um2"].is_null());
  mapped.layers[0].estimates = std::make_shared<const std::vector<energy::EstimatedComponent>>();
  EXPECT_EQ(document(mapped)["result"]["layers"][0]["figures"], "estimated");
}

TEST(MapJson, PrintsDoublesSoThatTheyReadBackExactly) {
  MappedModel mapped;
  mapped.layers = {example_layer()};
  mapped.layers[0].optimum.evaluation.energy_pj = 0.1 + 0.2;
  EXPECT_EQ(document(mapped)["result"]["layers"][0]["energy_pj"].get<double>(), 0.1 + 0.2);
}

TEST(MapJson, TotalsCountInstancesAndBlocks) {
  MappedModel mapped;
  mapped.layers = {example_layer(), example_layer()};
  mapped.layers[1].instances = 5;
  const nest::Evaluation& cost = mapped.layers[0].optimum.evaluation;
  const json result = document(mapped, 24)["result"];
  EXPECT_EQ(result["total"]["cycles"], 8 * cost.cycles);
  EXPECT_DOUBLE_EQ(result["total"]["energy_pj"], 8 * cost.energy_pj);
  EXPECT_DOUBLE_EQ(result["total"]["edp_j_cycles"], 64 * cost.energy_pj * static_cast<double>(cost.cycles) / 1e12);
  EXPECT_DOUBLE_EQ(result["total"]["edp_seed"], 8 * cost.edp_j_cycles);
  EXPECT_EQ(result["blocks"], 24);
  EXPECT_EQ(result["model"]["cycles"], 24 * 8 * cost.cycles);
  EXPECT_DOUBLE_EQ(result["model"]["energy_pj"], 24 * 8 * cost.energy_pj);
}

TEST(MapJson, RowsOfAnArrayStandBesideTheLayersAndInAllSums) {
  MappedModel mapped;
  mapped.layers = {example_layer()};
  const json before = document(mapped, 24)["result"];
  EXPECT_FALSE(before.contains("attention_array"));
  mapped.attention.array.name = "array.json", mapped.attention.array.density = 0.25;
  mapped.attention.cycle_seconds = 2e-9;
  mapped.attention.rows.resize(1);
  ArrayRow& row = mapped.attention.rows[0];
  row.name = "attention", row.instances = 5, row.queries = 8, row.keys = 9;
  row.seconds = 2e-8, row.energy_pj = 100, row.cycles = 10, row.edp_j_cycles = 1e-9;
  const json after = document(mapped, 24)["result"];
  EXPECT_EQ(after["layers"], before["layers"]);
  EXPECT_EQ(after["total"]["cycles"], before["total"]["cycles"].get<base::Count>() + 50);
  EXPECT_DOUBLE_EQ(after["total"]["energy_pj"], before["total"]["energy_pj"].get<double>() + 500);
  EXPECT_DOUBLE_EQ(after["total"]["edp_seed"], before["total"]["edp_seed"].get<double>() + 5e-9);
  EXPECT_EQ(after["model"]["cycles"], 24 * after["total"]["cycles"].get<base::Count>());
  EXPECT_EQ(after["attention_array"], json::parse(R"({"file": "array.json", "density": 0.25, "cycle_seconds": 2e-9,
      "rows": [{"name": "attention", "instances": 5, "queries": 8, "keys": 9, "seconds": 2e-8, "energy_pj": 100.0,
                "cycles": 10, "edp_j_cycles": 1e-9}]})"));
}

TEST(MapJson, TotalsOfOneLayerOfAModelAreNotCalledTheModels) {
  MappedModel mapped;
  mapped.layers = {example_layer()};
  Results request;
  request.mapped = mapped;
  request.blocks = 24;
  request.selected = "FF2";
  const json result = checked(mapping_document(true), request)["result"];
  EXPECT_FALSE(result.contains("model"));
  EXPECT_EQ(result["selection"], "FF2");
  EXPECT_EQ(result["selection_in_all_blocks"]["cycles"], 24 * result["total"]["cycles"].get<base::Count>());
}

TEST(MapJson, TotalsAreNullWhereLayersHaveNoMapping) {
  MappedModel mapped;
  mapped.layers = {infeasible_layer(), infeasible_layer()};
  const json none = document(mapped, 24)["result"];
  EXPECT_TRUE(none["total"].is_null());
  EXPECT_TRUE(none["model"].is_null());
  EXPECT_FALSE(none.contains("total_of_mapped"));
  EXPECT_EQ(none["unmapped"].size(), 2u);

  mapped.layers = {example_layer(), infeasible_layer()};
  const json some = document(mapped, 24)["result"];
  EXPECT_TRUE(some["total"].is_null()) << "a total that lacks a layer is none";
  EXPECT_TRUE(some["model"].is_null());
  EXPECT_GT(some["total_of_mapped"]["energy_pj"], 0);
  EXPECT_EQ(some["unmapped"], json::array({mapped.layers[1].name}));
}

TEST(MapJson, WritesTheMappingOuterToInner) {
  MappedModel mapped;
  mapped.layers = {example_layer()};
  const json mapping = document(mapped)["result"]["layers"][0]["mapping"];
  EXPECT_EQ(mapping["levels"][0]["level"], "DRAM");
  EXPECT_EQ(mapping["levels"][0]["temporal"], json::parse(R"({"L": 6})"));
  EXPECT_EQ(mapping["levels"][1]["spatial"], json::parse(R"({"D": 4})"));
  EXPECT_EQ(mapping["text"], "L2[WIO] L6 - L1[WIO] E8 D4X");
}

TEST(MapJson, SaysWhyALayerHasNoMapping) {
  MappedModel mapped;
  mapped.layers = {example_layer(), infeasible_layer()};
  const json out = document(mapped);
  const json& layer = out["result"]["layers"][1];
  EXPECT_EQ(layer["infeasible"], true);
  EXPECT_EQ(layer["conflicts"][0]["where"]["line"], 2);
  EXPECT_EQ(layer["conflicts"][0]["text"], "D=16 at PERows");
  EXPECT_EQ(layer["arithmetic"][0], "16 > 8");
  EXPECT_EQ(out["certificate"]["optimal"], false);
}

TEST(MapJson, HoldsTheFrontTheForcedChoiceAndTheCheckWhereAskedFor) {
  MappedModel mapped;
  mapped.layers = {example_layer()};
  MappedLayer& layer = mapped.layers[0];
  EXPECT_FALSE(document(mapped)["result"].contains("pareto"));
  EXPECT_FALSE(document(mapped)["result"]["layers"][0].contains("why"));
  layer.front = nest::ParetoFront{};
  layer.front->points = {layer.optimum};
  layer.forced = Forced{"Buffer.E=8", layer.optimum};
  layer.certified = Certified{};
  layer.certified->finished = layer.certified->agrees = true;
  const json result = document(mapped)["result"];
  const json& out = result["layers"][0];
  EXPECT_EQ(out["pareto"][0]["energy_pj"], out["energy_pj"]);
  EXPECT_EQ(out["pareto"][0]["mapping"], out["mapping"]);
  EXPECT_EQ(out["pareto"][0]["certificate"]["optimal"], true);
  EXPECT_EQ(out["pareto_complete"], true);
  EXPECT_EQ(result["pareto"], out["pareto"]);
  EXPECT_EQ(out["why"]["choice"], "Buffer.E=8");
  EXPECT_EQ(out["why"]["ratio"]["edp"], 1);
  EXPECT_EQ(out["why"]["levels"], json::array());
  EXPECT_EQ(out["certificate"]["certified"]["agrees"], true);
  layer.certified->finished = false;
  layer.forced->optimum = infeasible_layer().optimum;
  const json again = document(mapped)["result"]["layers"][0];
  EXPECT_EQ(again["certificate"]["certified"]["agrees"], nullptr);
  EXPECT_EQ(again["why"]["infeasible"], true);
  EXPECT_EQ(again["why"]["conflicts"].size(), 2u);
}

TEST(MapJson, AnEvaluationHasNoCertificate) {
  MappedModel mapped;
  mapped.layers = {example_layer()};
  mapped.layers[0].searched = false;
  const json out = document(mapped, 0, "eval");
  EXPECT_EQ(out["schema"], "orrery.eval/1");
  EXPECT_FALSE(out.contains("certificate"));
  EXPECT_FALSE(out["result"]["layers"][0].contains("certificate"));
}

TEST(MapJson, SurvivesNamesThatAreNotUtf8) {
  MappedModel mapped;
  mapped.layers = {example_layer()};
  mapped.layers[0].name = "bad\xff";
  EXPECT_NO_THROW(document(mapped));
}

}  // namespace
}  // namespace orrery::verbs
