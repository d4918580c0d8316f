#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "orrery/present/schema_check_test_util.h"
#include "orrery/verbs/place/json.h"
#include "orrery/verbs/place/latency_picture.h"
#include "orrery/verbs/place/place_files.h"
#include "orrery/verbs/place/table.h"

namespace orrery::verbs {
namespace {

using Json = nlohmann::json;

// Three kernels in two of three configurations, on 2 x 4 chips.
PlacedGraph example() {
  PlacedGraph placed;
  placed.title = "language model, 8 layers";
  placed.defects = dataflow::kGen2;
  for (const char* kernel : {"Up", "Act", "Down"}) {
    workload::Kernel made;
    made.name = kernel;
    made.m = 64;
    made.n = 16;
    made.k = 32;
    placed.setup.graph.kernels.push_back(made);
  }
  placed.setup.graph.edges = {{.from = 0, .to = 1}, {.from = 1, .to = 2}};
  dataflow::System& system = placed.setup.system;
  system.chips = 8;
  system.cores.cores = 4;
  system.cores.width = system.cores.height = 8;
  system.cores.frequency_ghz = 1;
  system.accelerator.memory_bytes_per_s = 1e9 * 100;
  system.network = {{dataflow::Link::kRing, 2, 25, dataflow::Parallelism::kTensor},
                    {dataflow::Link::kSwitch, 4, 12.5, dataflow::Parallelism::kPipeline}};
  dataflow::LanguageModelRun model;
  model.layers = 8;
  model.sequence = 16;
  model.hidden = 64;
  model.global_batch = model.micro_batch = 1;
  placed.setup.execution.workload = model;
  placed.setup.execution.compute_utilization = 0.5;

  dataflow::Mapping mapping;
  mapping.degrees = {.tensor = 2, .pipeline = 4, .sizes = {2, 4}};
  mapping.sharding = {workload::KernelDimension::kM, workload::KernelDimension::kM, workload::KernelDimension::kK};
  mapping.tiles = 4;
  mapping.tile_size = 4;
  mapping.configuration = {0, 0, 2};
  placed.placement.mapping = mapping;
  dataflow::Evaluation& e = placed.placement.evaluation;
  e.partition.configurations.resize(3);
  e.partition.configurations[0].kernels = {0, 1};
  e.partition.configurations[0].compute_ns = e.partition.configurations[0].interval_ns = 1000;
  e.partition.configurations[0].bound = dataflow::Binding::kCompute;
  e.partition.configurations[2].kernels = {2};
  e.partition.configurations[2].memory_ns = e.partition.configurations[2].interval_ns = 500;
  e.partition.configurations[2].bound = dataflow::Binding::kMemory;
  e.sum_interval_ns = 1500;
  e.final_ns = 2.5e9;
  e.flop = 1e12;
  e.flops_utilization = 0.25;
  placed.setup.prices.accelerator_price = 1234567;
  e.money.accelerator_cost = 1234567;
  e.money.link_cost_by_dimension = {400, 200};
  e.money.switch_cost_by_dimension = {2400, 4800};
  placed.placement.certificate.optimal = true;
  placed.placement.certificate.lower_bound = 2.5e9;
  placed.placement.certificate.gap = 0;
  placed.placement.certificate.space = 42;
  placed.placement.method = "order ideals";
  placed.placement.sharding.rule = "pinned";
  return placed;
}

TEST(PlaceTable, MorePlacementsThanADoubleCountsAreOverThatMany) {
  PlacedGraph placed = example();
  placed.placement.certificate.optimal = true;
  placed.placement.certificate.space = 1e300;
  EXPECT_NE(place_table(placed).find("none of over 1e+300 placements"), std::string::npos);
}

TEST(PlaceTable, HasARowPerConfigurationInUseAndSaysWhatEachFigureIs) {
  const std::string text = place_table(example());
  EXPECT_NE(text.find("TP 2, PP 4, DP 1; ring 2 x 25 GB/s (TP), switch 4 x 12.5 GB/s (PP)"), std::string::npos) << text;
  EXPECT_NE(text.find("Up, Act"), std::string::npos) << text;
  EXPECT_NE(text.find("memory"), std::string::npos);
  EXPECT_EQ(text.find("\n1  "), std::string::npos) << "configuration 1 is empty:\n" << text;
  EXPECT_NE(text.find("1,234,567"), std::string::npos) << text;
  EXPECT_NE(text.find("optimal: none of 42 placements ends sooner (order ideals)"), std::string::npos) << text;
  EXPECT_NE(text.find("figures are modelled"), std::string::npos);
}

TEST(PlaceTable, AnUnprovenAnswerShowsItsBoundAndGap) {
  PlacedGraph placed = example();
  placed.placement.certificate.optimal = false;
  placed.placement.certificate.lower_bound = 2e9;
  placed.placement.certificate.gap = 0.2;
  const std::string text = place_table(placed);
  EXPECT_NE(text.find("nothing ends before 2.000 s: gap 20 %"), std::string::npos) << text;
}

TEST(KernelRanges, JoinNeighboursAndCountWhatTheyLeaveOut) {
  workload::KernelGraph graph;
  for (int i = 0; i < 9; ++i) {
    workload::Kernel kernel;
    kernel.name = std::string(1, static_cast<char>('a' + i));
    graph.kernels.push_back(kernel);
  }
  EXPECT_EQ(kernel_ranges(graph, {0, 1, 2, 4, 5}, 3), "a..c, e, f");
  EXPECT_EQ(kernel_ranges(graph, {0, 2, 4, 6, 8}, 2), "a, c and 3 more");
  EXPECT_EQ(kernel_ranges(graph, {}, 2), "");
}

TEST(PlaceJson, HoldsTheContract) {
  const PlacedGraph placed = example();
  const Json document = checked(place_document(), placed, 0.5);
  EXPECT_EQ(document["schema"], "orrery.place/1");
  const Json& result = document["result"];
  ASSERT_EQ(result["configurations"].size(), 3u);
  const Json& first = result["configurations"][0];
  EXPECT_EQ(first["kernels"], Json({"Up", "Act"}));
  EXPECT_EQ(first["compute_ns"], 1000);
  EXPECT_EQ(first["memory_ns"], 0);
  EXPECT_EQ(first["network_ns"], 0);
  EXPECT_EQ(first["ii_ns"], 1000);
  EXPECT_EQ(first["bound"], "compute");
  EXPECT_EQ(result["sum_ii_ns"], 1500);
  EXPECT_EQ(result["final_ns"], 2.5e9);
  EXPECT_EQ(result["flop"], 1e12);
  EXPECT_EQ(result["flops_utilization"], 0.25);
  EXPECT_EQ(result["system_cost_usd"], 1234567);
  EXPECT_EQ(result["system_power_w"], nullptr) << "the setup names no power";
  EXPECT_EQ(result["power_w"], nullptr);
  EXPECT_EQ(result["sharding"]["Down"], "K");
  EXPECT_EQ(result["parallelism"]["tp"], 2);
  EXPECT_EQ(result["parallelism"]["pp"], 4);
  EXPECT_EQ(result["parallelism"]["dp"], 1);
  EXPECT_EQ(result["parallelism"]["dims"], Json({2, 4}));
  EXPECT_EQ(result["parallelism"]["network"][1]["size"], 4);
  EXPECT_EQ(document["certificate"]["optimal"], true);
  EXPECT_EQ(document["certificate"]["gap"], 0);
}

TEST(PlaceJson, WithoutAPlacementTheResultIsNull) {
  PlacedGraph placed = example();
  placed.placement.mapping.reset();
  placed.placement.infeasible = true;
  const Json document = checked(place_document(), placed, 0.5);
  EXPECT_TRUE(document["result"].is_null());
  EXPECT_EQ(document["certificate"]["infeasible"], true);
}

TEST(PlaceJson, OnlyModelsThatRunForwardHaveALatency) {
  PlacedGraph placed = example();
  EXPECT_FALSE(checked(place_document(), placed, 0.5)["result"].contains("latency_ns"));
  EXPECT_EQ(place_table(placed).find("latency"), std::string::npos);
  placed.placement.evaluation.latency_ns = 48000;
  EXPECT_EQ(checked(place_document(), placed, 0.5)["result"]["latency_ns"], 48000);
  EXPECT_NE(place_table(placed).find("latency           48.00 us for one sequence through all stages"),
            std::string::npos)
      << place_table(placed);
}

TEST(PlaceTable, AJointAnswerTellsWhatTwoPassesLose) {
  PlacedGraph placed = example();
  EXPECT_EQ(place_table(placed).find("two passes"), std::string::npos);
  dataflow::TwoPasses& passes = placed.placement.two_passes.emplace();
  EXPECT_NE(place_table(placed).find("two passes        find nothing"), std::string::npos);
  EXPECT_EQ(checked(place_document(), placed, 0.5)["result"]["two_passes"]["final_ns"], nullptr);
  passes.final_ns = 2.5e9;
  passes.optimal = true;
  EXPECT_NE(place_table(placed).find("two passes        2.500 s: sharding first loses nothing\n"), std::string::npos)
      << place_table(placed);
  passes.final_ns = 3e9;
  EXPECT_NE(place_table(placed).find("two passes        3.000 s: sharding first loses 20 %\n"), std::string::npos)
      << place_table(placed);
  const Json told = checked(place_document(), placed, 0.5)["result"]["two_passes"];
  EXPECT_EQ(told["final_ns"], 3e9);
  EXPECT_NEAR(told["loss"].get<double>(), 0.2, 1e-12);
  EXPECT_EQ(told["optimal"], true);
  passes.optimal = false;
  EXPECT_NE(place_table(placed).find("3.000 s at best known: "), std::string::npos);
}

TEST(PlaceTable, ASecondDramInUseIsTold) {
  PlacedGraph placed = example();
  EXPECT_FALSE(checked(place_document(), placed, 0.5)["result"].contains("in_second_dram"));
  dataflow::System& system = placed.setup.system;
  system.accelerator.memory_bytes_per_s = 100e9;
  system.accelerator.memory_bytes = 1e9;
  system.second_memory = {.bandwidth_gb_per_s = 20, .capacity_bytes = 3e9};
  EXPECT_EQ(checked(place_document(), placed, 0.5)["result"]["in_second_dram"], false);
  EXPECT_EQ(place_table(placed).find("second DRAM"), std::string::npos);
  placed.placement.evaluation.partition.in_second_dram = true;
  EXPECT_EQ(checked(place_document(), placed, 0.5)["result"]["in_second_dram"], true);
  EXPECT_NE(place_table(placed).find("second DRAM       in use: all traffic at 40 GB/s\n"), std::string::npos)
      << place_table(placed);
}

// Heights of 280 for the highest stack: 1,000 ns of compute, 500 of memory.
TEST(LatencySvg, HasABarForEachConfigurationInUseAndALineAtItsInterval) {
  PlacedGraph placed = example();
  dataflow::ConfigurationCost& cost = placed.placement.evaluation.partition.configurations[0];
  cost.network_ns = 250;
  placed.title = "a < b";
  const std::string svg = latency_svg(placed);
  const auto count = [&](const std::string& what) {
    std::size_t times = 0;
    for (std::size_t at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) ++times;
    return times;
  };
  EXPECT_EQ(svg.substr(0, 4), "<svg");
  EXPECT_EQ(count("<g><title>"), 2U) << "configuration 1 is empty";
  EXPECT_EQ(count("height=\"224.00\""), 1U) << "1,000 of 1,250 ns:\n" << svg;
  EXPECT_EQ(count("height=\"112.00\""), 1U) << "500 ns";
  EXPECT_EQ(count("height=\"56.00\""), 1U) << "250 ns";
  EXPECT_EQ(count("y1=\"112.00\" y2=\"112.00\" stroke=\"black\""), 1U) << "an interval of 1,000 ns";
  EXPECT_EQ(count("a &lt; b"), 1U);
  EXPECT_EQ(count("bound by compute"), 1U);
  placed.placement.evaluation.partition = {};
  EXPECT_NE(latency_svg(placed).find("</svg>"), std::string::npos);
}

TEST(PlaceLog, HasTheLinesThatScriptsReadWithNumbersAsPythonPrintsThem) {
  const std::string log = verbs::place_log(example());
  for (const char* line :
       {"ALL_REDUCE_ratio 0.02\n", "\nConfig[2] 2\n", "\nPer_Config_II[0] 1000.0\n", "\nMemory_Latency[2] 500.0\n",
        "\nall_config_II 1500.0\n", "\nLINK_cost[1] 200.0\n", "\nSWITCH_cost[0] 2400.0\n", "\nfinal_ns 2500000000.0\n",
        "\nTP 2.0\n", "\nfinal_s 2.5\n", "\nNumber of Chips 8\n", "\nLink BW [25.0, 12.5]\n",
        "\nSystem Cost 1234567.0\n", "\nSystem FLOPS Utilization 0.25\n"})
    EXPECT_NE(log.find(line), std::string::npos) << line << log;
}

}  // namespace
}  // namespace orrery::verbs
