// Published runs of DFModel, rebuilt from the generators: every figure that their logs state exactly.
#include "orrery/engines/dataflow/model/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/engines/dataflow/model/published_cases_test_util.h"

namespace orrery::dataflow {
namespace {

using namespace cases;

void expect_near(double value, double expected, const char* what) {
  EXPECT_NEAR(value, expected, 1e-9 * std::abs(expected)) << what;
}

void expect_run(const Evaluation& e, double final_ns, double utilization, double cost, double power, double flop) {
  EXPECT_TRUE(e.partition.feasible) << e.partition.first_violation;
  expect_near(e.final_ns, final_ns, "time");
  expect_near(e.flops_utilization, utilization, "utilisation");
  expect_near(e.money.total_cost(), cost, "cost");
  expect_near(e.money.total_power(), power, "power");
  expect_near(e.flop, flop, "FLOP");
}

TEST(Evaluate, ReadmeCaseOfATrillionParameters) {
  const auto setup = readme();
  const Evaluation e = evaluate(setup, readme_optimum(setup), kGen1);
  expect_run(e, 78994771025.58195, 0.7748055154407493, 17757184.0, 511325.01135492325, 3.85072240461978e19);
  const double intervals[] = {3670016, 2427259.3235596726, 3670016, 2427448.9532, 4854660.8693, 7476356.9388};
  for (int c = 0; c < 6; ++c)
    EXPECT_NEAR(e.partition.configurations[c].interval_ns, intervals[c], 1e-4) << "configuration " << c;
  expect_near(e.sum_interval_ns, 24525758.0848956, "sum");
  expect_near(e.pipeline_factor, 1.0413411458333333, "bubble");
  expect_near(e.point_to_point_ns, 536870912.0, "point to point");
  expect_near(e.money.link_cost, 204800, "links");
  expect_near(e.money.switch_cost, 326400, "switches");
  expect_near(e.money.dram_power, 49913.85498046875, "power of DRAM");
  expect_near(e.money.link_power, 5324.800109863281, "power of links");
  expect_near(e.money.switch_power, 707.200014591217, "power of switches");
  EXPECT_EQ(e.layers_per_stage, 1);
  EXPECT_EQ(e.micro_batches, 3072);
}

TEST(Evaluate, Gpt3OnFourByTwoWithFreeCores) {
  const auto setup = gpt3_4x2();
  std::vector<int> configuration(18, 4);
  for (int i = 0; i < 4; ++i) configuration[i] = 1;
  for (int i = 4; i < 10; ++i) configuration[i] = 2;
  for (int i = 10; i < 14; ++i) configuration[i] = 3;
  const Mapping found = mapping(setup, {.tensor = 4, .data = 2, .sizes = {4, 2}}, 32, configuration);
  const Evaluation e = evaluate(setup, found, kGen2);
  expect_run(e, 793194560225.28, 0.8656198601973684, 140978.0, 3724.033656299114, 1.6874003603411436e18);
  const double intervals[] = {0, 1258291.2, 1509949.44, 2202009.6, 2202009.6};
  for (int c = 0; c < 5; ++c) EXPECT_NEAR(e.partition.configurations[c].interval_ns, intervals[c], 1e-6);
}

TEST(Evaluate, Gpt3OnARingOfEight) {
  const auto setup = gpt3_8x1();
  const Evaluation e = evaluate(setup, gpt3_8x1_optimum(setup), kGen2);
  expect_run(e, 876688724459.52, 0.7831798735119047, 134578.0, 3700.6336558163166, 1.6874003603411436e18);
  const ConfigurationCost& front = e.partition.configurations[2];
  expect_near(front.compute_ns, 1258291.2, "compute");
  expect_near(front.memory_ns, 1006632.96, "memory");
  expect_near(front.network_ns, 1761607.68, "network");
  EXPECT_EQ(front.sram_bytes, 281149440);
  EXPECT_EQ(e.partition.configurations[3].sram_bytes, 333447168);
  EXPECT_EQ(front.bound, Binding::kNetwork);
  EXPECT_EQ(e.partition.configurations[3].bound, Binding::kCompute);
}

TEST(Evaluate, Gpt3KernelByKernel) {
  auto setup = gpt3_8x1();
  setup.execution.style = Style::kKernelByKernel;
  // One tile: the whole sequence at once is fastest here.
  double best = INFINITY;
  for (const Count tiles : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048}) {
    const Evaluation e = evaluate(setup, mapping(setup, {.tensor = 8, .sizes = {8}}, tiles, one_each(18)), kGen2);
    if (e.partition.feasible) best = std::min(best, e.final_ns);
  }
  expect_near(best, 4896584839987.2, "time");
}

TEST(Evaluate, DecodingPaysLinkLatencies) {
  const auto setup = decode();
  const Evaluation e =
      evaluate(setup, mapping(setup, {.tensor = 12, .sizes = {12}}, 1, std::vector<int>(20, 0)), kGen3);
  expect_run(e, 12577816.575999996, 0.00022902784299595123, 465600.0, 16867.679841443896, 442470942720.0);
  expect_near(e.partition.configurations[0].compute_ns, 30.013141250000004, "compute");
  expect_near(e.partition.configurations[0].memory_ns, 42868.736, "memory");
  expect_near(e.partition.configurations[0].network_ns, 88150.18666666668, "network");
}

TEST(Evaluate, LinpackOnCirce) {
  const auto setup = hpl_circe();
  expect_run(evaluate(setup, whole_machine(setup), kGen2), 60300056.879855, 0.7826586780507844, 19719672.0,
             516416.86485353485, 192070937477120.0);
}

TEST(Evaluate, FourierTransformOnAThousandChips) {
  const auto setup = fft_1024();
  const Evaluation e = evaluate(setup, whole_machine(setup), kGen2);
  expect_run(e, 1357981486.505653, 0.02519471172309386, 43908736.0, 1126516.9546906352, 682898292614256.0);
  expect_near(e.partition.configurations[0].interval_ns, 17117872.74565294, "transform");
  expect_near(e.partition.configurations[1].interval_ns, 1340863613.76, "exchange");
  expect_near(e.partition.configurations[0].memory_ns, 2057182.0853359492, "memory");
}

TEST(Evaluate, RecommendationOnRingsOfNodes) {
  const auto setup = dlrm_i();
  const Evaluation e = evaluate(setup, whole_machine(setup), kGen2);
  expect_run(e, 67754278554008.75, 0.01162113791385396, 3231840.0, 98533.2496407032, 3.143172096e19);
  expect_near(e.partition.configurations[2].interval_ns, 33500364.8, "exchange");
  EXPECT_EQ(e.micro_batches, 1000000);
}

}  // namespace
}  // namespace orrery::dataflow
