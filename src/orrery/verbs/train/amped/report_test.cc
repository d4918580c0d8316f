#include "orrery/verbs/train/amped/report.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "orrery/present/schema_check_test_util.h"

namespace orrery::verbs {
namespace {

constexpr const char* kFlat = R"({"layers": 24, "dimensionality": 2048, "attention_heads": 16,
  "hidden_layer_dimension_for_attention_sublayers": 128, "key_query_value_length": 128,
  "hidden_layer_dimension_MLP_2": 8192, "context": 2048, "number_of_tokens_in_vocabulary": 51200, "batch_size": 256,
  "tokens_to_train": 1e10, "number_of_experts": 4, "tp_intra": 2, "tp_inter": 2, "dp_intra": 2, "dp_inter": 2,
  "pp_intra": 2, "pp_inter": 2, "number_of_microbatches_per_minibatch": 8, "weight_precision": 16,
  "activation_precision": 16, "gradient_precision": 16, "optimizer_state_precision": 32, "frequency": 1.41e9,
  "number_of_cores": 108, "functional_units_per_core": 4, "functional_unit_hardware_8bit_MAC_per_cycle": 256,
  "non_linear_functional_units_per_core": 4, "non_linear_functional_unit_hardware_8bit_NLIN_per_cycle": 4,
  "inter_accelerator_bandwidth": "2.4 Tb/s", "inter_accelerator_latency": "3 us", "inter_node_latency": "5 us",
  "bandwidth_per_network_card": "200 Gb/s", "memory_capacity": "80 GB"})";

AmpedRun amped_run_of(const amped::Model& model) {
  AmpedRun run;
  base::Diagnostics found;
  const auto file = std::make_shared<base::SourceFile>(base::SourceFile{"flat.json", kFlat});
  run.model = model;
  run.resolved = formats::amped::resolve_flat(file, {}, model.defects, found);
  run.times = amped::times_of(run.resolved.quantities, model);
  return run;
}

TEST(AmpedReport, TheBreakdownSumsToTheIteration) {
  for (const amped::Model& model : {amped::Model{}, amped::Model::original()}) {
    const AmpedRun run = amped_run_of(model);
    const auto result = checked(amped_document(), run).at("result");
    double sum = 0;
    for (const char* key : {"forward", "backward", "recompute", "optimizer", "tp_exposed", "pp_exposed", "dp_exposed",
                            "ep_exposed", "cp_exposed", "bubble"})
      sum += result.at("breakdown").at(key).get<double>();
    const double iteration = result.at("iteration_s").get<double>();
    EXPECT_NEAR(sum, iteration, 1e-12 * iteration);
    EXPECT_EQ(result.at("amped").at("outputs").at("iteration_time_s").get<double>(), iteration);
    EXPECT_TRUE(result.at("amped").at("derived").at("dp").is_number_integer());
    EXPECT_TRUE(result.at("fits").get<bool>());
    const auto& memory = result.at("memory_bytes");
    const double total = memory.at("total").get<double>();
    EXPECT_NEAR(memory.at("weights").get<double>() + memory.at("gradients").get<double>() +
                    memory.at("optimizer").get<double>() + memory.at("activations").get<double>(),
                total, 1e-12 * total);
  }
}

TEST(AmpedReport, TheTableDrawsAChartAndListsTheBestSplits) {
  AmpedRun run = amped_run_of({});
  EXPECT_NE(amped_table(run).find("█"), std::string::npos);
  run.space = amped::Space{8, 8, 256, 80};
  run.search = amped::search(run.resolved.quantities, run.resolved.keep, run.model, *run.space);
  ASSERT_FALSE(run.search.valid.empty());
  EXPECT_NE(amped_table(run).find("DP in x out"), std::string::npos);
  const std::string csv = amped_search_csv(run.search);
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), 1 + run.search.valid.size());
}

}  // namespace
}  // namespace orrery::verbs
