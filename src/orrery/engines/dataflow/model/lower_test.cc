#include "orrery/engines/dataflow/model/lower.h"

#include <gtest/gtest.h>

#include <limits>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/describe/machine/roofline.h"
#include "orrery/describe/workload/graphs/kernel_builder.h"
#include "orrery/engines/dataflow/model/published_cases_test_util.h"

namespace orrery::dataflow {
namespace {

using namespace cases;
using workload::Communication;
using workload::KernelDimension;

constexpr Defects kAll[] = {kCorrected, kGen1, kGen2, kGen3, kGen4, kHead};

// Two products of a 64-wide model, 30 tokens; the second sums over the sharded dimension.
dataflow::Setup pair() {
  dataflow::Setup setup;
  workload::Kernel up;
  up.name = "up";
  up.operands = workload::Operands::kInputAndWeight;
  up.outer = 2, up.m = 50, up.k = 64, up.n = 30;
  up.tiling = KernelDimension::kN;
  workload::Kernel down = up;
  down.name = "down";
  down.outer = 1, down.m = 64, down.k = 100;
  setup.graph.kernels = {up, down};
  setup.graph.edges = {{0, 1}};
  setup.system.chips = 12;
  put(chip(10, 4, 2, 1, 1e6), setup.system);
  setup.system.network = {{Link::kRing, 3, 10, Parallelism::kTensor}, {Link::kRing, 4, 5, Parallelism::kData}};
  setup.system.accelerator.memory_bytes_per_s = 1e9 * 8;
  setup.system.accelerator.memory_bytes = 1e9;
  LanguageModelRun model{.hidden = 64, .sequence = 30, .layers = 7};
  model.global_batch = 16;
  model.micro_batch = 2;
  setup.execution.workload = model;
  setup.execution.configurations = 3;
  return setup;
}
Mapping pair_mapping(Count tiles = 4) {
  Mapping mapping;
  mapping.degrees = {.tensor = 3, .data = 4, .sizes = {3, 4}};
  mapping.sharding = {KernelDimension::kOuter, KernelDimension::kK};
  mapping.tiles = tiles;
  return mapping;
}

TEST(Shards, DividedByChipsThenTilesRoundedUp) {
  const dataflow::Setup setup = pair();
  const auto parts = shards(setup, pair_mapping(), kCorrected);
  EXPECT_EQ(parts[0].m, 34);  // ceil(2 * 50 / 3)
  EXPECT_EQ(parts[0].k, 64);
  EXPECT_EQ(parts[0].n, 8);  // ceil(30 / 4)
  EXPECT_EQ(parts[1].m, 64);
  EXPECT_EQ(parts[1].k, 34);
}

TEST(Shards, ExpertsAreNotCut) {
  dataflow::Setup setup = pair();
  setup.graph.kernels = {
      workload::weight_product("experts", {8, 16, 64, 30}, 8.0 * 64 * 30 * 2, 16384, 8.0 * 16 * 30 * 2),
      workload::elementwise("act", {8, 16, 1, 30}, 8.0 * 16 * 30 * 2, 8.0 * 16 * 30 * 2)};
  setup.graph.edges = {{.from = 0, .to = 1}};
  Mapping mapping = pair_mapping(1);
  mapping.sharding = {KernelDimension::kOuter, KernelDimension::kOuter};
  for (const Shard& part : shards(setup, mapping, kCorrected)) EXPECT_EQ(part.m, 3 * 16);  // ceil(8 / 3) experts
}

TEST(Shards, SequenceParallelChipsHaveFewerTokens) {
  const dataflow::Setup setup = pair();
  Mapping mapping = pair_mapping(2);
  mapping.degrees.sequence = 5;
  EXPECT_EQ(shards(setup, mapping, kHead)[0].n, 3);
}

TEST(Shards, StatedPartsStandForWhatFollowsFromTheShardingAndAreTiled) {
  dataflow::Setup setup = pair();
  setup.graph.kernels[0].shard_m = 40;
  setup.graph.kernels[0].shard_n = 10;
  setup.graph.kernels[1].shard_k = 50;
  Mapping mapping = pair_mapping();
  mapping.degrees.sequence = 5;
  const auto parts = shards(setup, mapping, kCorrected);
  EXPECT_EQ(parts[0].m, 40);
  EXPECT_EQ(parts[0].k, 64) << "not stated";
  EXPECT_EQ(parts[0].n, 3) << "ceil(10 / 4): one chip has 10 tokens already";
  EXPECT_EQ(parts[1].k, 50);
  EXPECT_EQ(parts[1].n, 2) << "ceil(30 / 5 / 4)";
  const PartitionProblem problem = lower(setup, mapping, kCorrected);
  EXPECT_EQ(problem.kernels[0].weight_bytes, 40 * 64 * 2);
  EXPECT_EQ(problem.edges[0].buffer_bytes, 40 * 3 * 2);
}

TEST(Shards, AGenerationTakesStatedPartsWhereTheInterChipPassIsSkipped) {
  dataflow::Setup setup = pair();
  setup.graph.kernels[0].shard_m = 40;
  setup.graph.edges[0].buffer_depth = 5;
  for (const Defects& defects : kAll) {
    setup.execution.skip_inter_chip = false;
    const bool corrected = defects == kCorrected;
    EXPECT_EQ(shards(setup, pair_mapping(), defects)[0].m, corrected ? 40 : 34);
    EXPECT_EQ(lower(setup, pair_mapping(), defects).edges[0].depth, corrected ? 5 : 2);
    setup.execution.skip_inter_chip = true;
    EXPECT_EQ(shards(setup, pair_mapping(), defects)[0].m, 40);
    EXPECT_EQ(lower(setup, pair_mapping(), defects).edges[0].depth, 5);
  }
}

TEST(Shards, OtherWorkloadsTakeStatedPartsToo) {
  dataflow::Setup setup = hpl_circe();
  const Shard before = shards(setup, whole_machine(setup), kCorrected)[0];
  setup.graph.kernels[0].shard_k = before.k + 1;
  EXPECT_EQ(shards(setup, whole_machine(setup), kCorrected)[0].k, before.k + 1);
}

TEST(Shards, RefuseWhatCannotBeCounted) {
  dataflow::Setup setup = pair();
  setup.graph.kernels[0].outer = std::numeric_limits<Count>::max() / 2;
  setup.graph.kernels[1].outer = std::numeric_limits<Count>::max() / 2;
  const auto errors = base::refused([&] { shards(setup, pair_mapping(), kCorrected); });
  ASSERT_EQ(errors.size(), 2U) << "all of them at once";
  EXPECT_EQ(errors.at(0).code, "O1431");
  EXPECT_NE(errors.at(0).message.find("`up`"), std::string::npos);
}

TEST(Shards, RefuseMoreChipsThanCanBeCounted) {
  dataflow::Setup setup = pair();
  Mapping mapping = pair_mapping();
  setup.system.network.push_back({Link::kRing, 4, 5});
  mapping.degrees.sizes = {3, Count{1} << 40, Count{1} << 40};
  EXPECT_THROW(shards(setup, mapping, kCorrected), base::InputError);
}

TEST(Lower, BuffersWeightsAndTraffic) {
  const PartitionProblem problem = lower(pair(), pair_mapping(), kCorrected);
  ASSERT_EQ(problem.edges.size(), 1U);
  const PartitionEdge& edge = problem.edges[0];
  EXPECT_EQ(edge.buffer_bytes, 34 * 8 * 2);
  EXPECT_EQ(edge.depth, 2);
  EXPECT_EQ(edge.stream_bytes, 4 * 34 * 8 * 2);
  EXPECT_EQ(edge.resident_bytes, 2 * 4 * 34 * 8 * 2);
  EXPECT_EQ(problem.kernels[0].weight_bytes, 34 * 64 * 2);
  EXPECT_EQ(problem.kernels[1].weight_bytes, 64 * 34 * 2);
  EXPECT_EQ(problem.kernels[0].dram_bytes, 7 * 34 * 64 * 2) << "seven layers";
  EXPECT_TRUE(problem.kernels[0].can_split_weight);
  EXPECT_EQ(problem.sram_bytes, 1e6);
  EXPECT_EQ(problem.dram_bytes, 1e9);
}

TEST(Lower, AnAllReduceFollowsAProductThatIsShardedAlongK) {
  dataflow::Setup setup = pair();
  const double bytes = 4 * 64 * 8 * 2;
  setup.system.link_latency_ns = 100;
  for (const Defects& defects : kAll) {
    const bool gen1 = defects == kGen1;
    const bool latency = !gen1 && defects != kGen2;
    const PartitionProblem problem = lower(setup, pair_mapping(), defects);
    EXPECT_EQ(problem.kernels[0].network_ns, 0);
    EXPECT_DOUBLE_EQ(problem.kernels[1].network_ns, (gen1 ? 2 : 1) * bytes * 2 / (3 * 10) + (latency ? 400 : 0));
  }
}

TEST(Lower, APeriodicReductionIsSpreadOverTheMicroBatches) {
  dataflow::Setup setup = pair();
  workload::Kernel& update = setup.graph.kernels[1];
  update.operands = workload::Operands::kTwoInputs;
  update.tiling = KernelDimension::kK;
  update.communication = Communication::kPeriodicAllReduce;
  Mapping mapping = pair_mapping();
  mapping.sharding[1] = KernelDimension::kM;
  // 22 x 30 outputs, 16 / (2 * 4) micro-batches, four replicas.
  EXPECT_DOUBLE_EQ(lower(setup, mapping, kCorrected).kernels[1].network_ns, 22 * 30 * 2 / 2.0 * 3 / (4 * 5));
  setup.execution.separate_reduce_scatter_all_gather = true;
  EXPECT_DOUBLE_EQ(lower(setup, mapping, kGen2).kernels[1].network_ns, 22 * 30 * 2 * 3 / (4 * 5.0));
}

TEST(Lower, GroupsOfChipsCommunicateAtOnceInTheNewestGenerationAndInTurnsOtherwise) {
  dataflow::Setup setup = pair();
  setup.graph.kernels[0].second_communication = Communication::kPeriodicAllReduce;
  setup.graph.kernels[1].second_communication = Communication::kPeriodicAllReduce;
  const std::vector<int> both = {0, 1};
  const double tensor = 4 * 64 * 8 * 2 * 2 / (3 * 10.0);
  const double first = 4 * 34 * 8 * 2 / 2.0 * 3 / (4 * 5), second = 4 * 64 * 8 * 2 / 2.0 * 3 / (4 * 5);
  for (const Defects& defects : kAll) {
    const PartitionProblem problem = lower(setup, pair_mapping(), defects);
    const double doubled = defects == kGen1 ? 2 : 1;
    const double network = price(problem, std::span(both)).network_ns;
    if (defects == kHead) {
      EXPECT_DOUBLE_EQ(problem.kernels[1].network_ns, tensor);
      EXPECT_DOUBLE_EQ(problem.kernels[1].beside_ns, second);
      EXPECT_DOUBLE_EQ(network, std::max(tensor, first + second));
      EXPECT_DOUBLE_EQ(price(problem, std::span(both).subspan(1)).network_ns, std::max(tensor, second));
    } else {
      EXPECT_EQ(problem.kernels[1].beside_ns, 0);
      EXPECT_DOUBLE_EQ(network, doubled * (tensor + first + second));
    }
  }
}

TEST(Lower, PinnedCommunicationGoesBeforeTheRule) {
  dataflow::Setup setup = pair();
  setup.graph.kernels[1].communication = Communication::kAllGather;
  setup.graph.kernels[1].communication_bytes = 3000;
  EXPECT_DOUBLE_EQ(lower(setup, pair_mapping(), kGen2).kernels[1].network_ns, 3000.0 * 2 / (3 * 10));
  setup.graph.edges[0].communication = Communication::kAllToAll;
  setup.graph.edges[0].communication_bytes = 800;
  EXPECT_DOUBLE_EQ(lower(setup, pair_mapping(), kGen2).edges[0].network_ns, 800.0 * 9 / (8 * 10));
}

TEST(Lower, EdgesConvertLayoutsThatDoNotFit) {
  dataflow::Setup setup = pair();
  setup.graph.kernels[0].output_bytes = setup.graph.kernels[1].input_bytes = 6000;
  Mapping mapping = pair_mapping();
  // Rows at the producer; split along M, the consumer wants all of them.
  mapping.sharding = {KernelDimension::kM, KernelDimension::kM};
  EXPECT_DOUBLE_EQ(lower(setup, mapping, kGen2).edges[0].network_ns, 6000.0 * 2 / (3 * 10));
  // Both ways round the ring at once.
  EXPECT_DOUBLE_EQ(lower(setup, mapping, kCorrected).edges[0].network_ns, 6000.0 * 2 / (3 * 20));
}

TEST(Lower, OneChipCommunicatesNothing) {
  dataflow::Setup setup = pair();
  setup.system.chips = 1;
  for (NetworkDimension& dimension : setup.system.network) dimension.size = 1;
  setup.graph.kernels[0].communication = Communication::kPeriodicAllReduce;
  setup.system.link_latency_ns = 100;
  Mapping mapping = pair_mapping();
  mapping.degrees = {.sizes = {1, 1}};
  for (const Defects& defects : kAll) {
    const PartitionProblem problem = lower(setup, mapping, defects);
    for (const PartitionKernel& kernel : problem.kernels) EXPECT_EQ(kernel.network_ns, 0);
    for (const PartitionEdge& edge : problem.edges) EXPECT_EQ(edge.network_ns, 0);
  }
}

TEST(Lower, BackwardKernelsComeAfterForwardOnes) {
  dataflow::Setup setup = pair();
  setup.graph.kernels[1].direction = workload::Direction::kBackward;
  const auto ranges = [&](int configurations) {
    setup.execution.configurations = configurations;
    const PartitionProblem problem = lower(setup, pair_mapping(), kGen2);
    return std::vector<int>{problem.kernels[0].first, problem.kernels[0].last, problem.kernels[1].first,
                            problem.kernels[1].last};
  };
  EXPECT_EQ(ranges(6), (std::vector<int>{0, 2, 3, 5}));
  EXPECT_EQ(ranges(5), (std::vector<int>{0, 2, 2, 4}));
  EXPECT_EQ(ranges(1), (std::vector<int>{0, 0, 0, 0}));
  setup.graph.kernels[1].direction = workload::Direction::kForward;
  EXPECT_EQ(ranges(6), (std::vector<int>{0, 5, 0, 5}));
  setup.graph.kernels[1].configuration = 4;
  EXPECT_EQ(ranges(6), (std::vector<int>{0, 5, 4, 4}));
  EXPECT_EQ(ranges(2), (std::vector<int>{0, 0, 1, 1})) << "as many as kernels: one each";
}

TEST(Lower, KernelByKernelFollowsTheGraphWhereTheListDoesNot) {
  dataflow::Setup setup = pair();
  setup.execution.style = Style::kKernelByKernel;
  EXPECT_EQ(lower(setup, pair_mapping(), kGen2).kernels[0].first, 0);
  setup.graph.edges = {{1, 0}};
  EXPECT_EQ(lower(setup, pair_mapping(), kGen2).kernels[0].first, 1);
  EXPECT_EQ(lower(setup, pair_mapping(), kGen2).kernels[1].last, 0);
}

TEST(Lower, RepeatingKernelsTakeLongerAndStayApart) {
  dataflow::Setup setup = pair();
  const PartitionProblem once = lower(setup, pair_mapping(), kGen4);
  setup.graph.kernels[1].inputs = 5;
  const PartitionProblem often = lower(setup, pair_mapping(), kGen4);
  EXPECT_NE(often.kernels[0].repeat_class, often.kernels[1].repeat_class);
  EXPECT_DOUBLE_EQ(often.kernels[1].choices[0].ns, 5 * once.kernels[1].choices[0].ns);
}

TEST(Lower, ChainsUseTheirEffectiveStages) {
  dataflow::Setup setup = pair();
  setup.graph.kernels[0].effective_stages = 12;
  const PartitionProblem problem = lower(setup, pair_mapping(1), kGen4);
  EXPECT_DOUBLE_EQ(problem.kernels[0].choices.front().ns, 6 * 30);  // ceil(64 / 12) * 30 tokens
  EXPECT_DOUBLE_EQ(problem.kernels[0].choices.back().ns, 30);
}

TEST(Lower, WithMemoryUnitsEveryPairOfLanesAndStagesIsAChoice) {
  dataflow::Setup setup = pair();
  const std::size_t fewest = lower(setup, pair_mapping(), kGen2).kernels[0].choices.size();
  setup.system.floorplan.memory_units = 100;
  setup.system.floorplan.memory_unit_bytes = 1000;
  const PartitionProblem problem = lower(setup, pair_mapping(), kGen2);
  EXPECT_GT(problem.kernels[0].choices.size(), fewest);
  EXPECT_EQ(problem.memory_units, 100);
  EXPECT_EQ(problem.memory_unit_bytes, 1000);
  // Linpack's buffers are not checked: the fastest choice is enough.
  dataflow::Setup hpl = hpl_circe();
  hpl.system.floorplan.memory_units = 100;
  EXPECT_EQ(lower(hpl, whole_machine(hpl), kGen2).kernels[0].choices.size(), 1U);
  EXPECT_EQ(lower(hpl, whole_machine(hpl), kGen2).memory_units, 0);
}

TEST(Lower, UtilisationScalesThePeakAndOtherModelsMayAnswer) {
  dataflow::Setup setup = pair();
  setup.execution.compute_utilization = 0.5;
  const double flop = 4 * 2.0 * 34 * 64 * 8;
  EXPECT_DOUBLE_EQ(lower(setup, pair_mapping(), kCorrected).kernels[0].compute_ns, flop / (0.5 * 2 * 4 * 2 * 10));
  machine::Accelerator accelerator;
  accelerator.peak_flops_per_s.fill(1e9);
  accelerator.memory_bytes_per_s = 1e30;
  const machine::Roofline roofline(accelerator);
  EXPECT_GT(lower(setup, pair_mapping(), kCorrected, &roofline).kernels[0].compute_ns, flop * 0.99);
  setup.execution.compute_utilization.reset();
  EXPECT_TRUE(lower(setup, pair_mapping(), kCorrected, &roofline).free_cores);
}

TEST(Lower, SramIsCheckedWhereKernelsAreFused) {
  const auto checked = [](const Workload& workload, const Defects& defects) {
    dataflow::Setup setup = pair();
    setup.execution.workload = workload;
    Mapping mapping = pair_mapping();
    return lower(setup, mapping, defects).sram_bytes > 0;
  };
  const Recommendation dlrm{.global_batch = 12};
  const StateSpaceModel mamba{.kind = "mamba"}, other{.kind = "gemm_fft_llm"};
  for (const Defects& defects : kAll) {
    const bool late = defects == kGen4 || defects == kHead;
    EXPECT_TRUE(checked(pair().execution.workload, defects));
    EXPECT_EQ(checked(dlrm, defects), !late);
    EXPECT_EQ(checked(mamba, defects), late || defects == kCorrected);
    EXPECT_EQ(checked(other, defects), defects == kCorrected);
    EXPECT_FALSE(checked(Linpack{.n = 4, .block = 1}, defects));
    EXPECT_FALSE(checked(FourierTransform{.length = 4}, defects));
  }
}

TEST(Lower, TablesLieInDramWhateverThePartition) {
  const dataflow::Setup setup = dlrm_i();
  const PartitionProblem problem = lower(setup, whole_machine(setup), kGen2);
  double bytes = 0;
  for (const PartitionKernel& kernel : problem.kernels) bytes += kernel.dram_bytes - kernel.weight_bytes;
  EXPECT_DOUBLE_EQ(bytes, 5187499953.75);
}

TEST(Lower, TermsEnterOnlyWithoutOverlap) {
  dataflow::Setup setup = pair();
  setup.execution.terms = "CN";
  EXPECT_TRUE(lower(setup, pair_mapping(), kHead).use_memory);
  setup.execution.overlap = Overlap::kNone;
  const PartitionProblem problem = lower(setup, pair_mapping(), kHead);
  EXPECT_TRUE(problem.use_compute && problem.use_network);
  EXPECT_FALSE(problem.use_memory);
}

TEST(Lower, DlrmGradientsHaveABandwidthWhenCorrected) {
  const dataflow::Setup setup = dlrm_i();
  const double bytes = 1825.0 * 1825 * 2 / 1e6;
  EXPECT_DOUBLE_EQ(lower(setup, whole_machine(setup), kGen2).kernels[12].network_ns, bytes);
  EXPECT_DOUBLE_EQ(lower(setup, whole_machine(setup), kCorrected).kernels[12].network_ns,
                   bytes * (2 * 7.0 / (8 * 600) + 2 * 1.0 / (16 * 25 * 8)));
}

TEST(Lower, LinpackSendsPanelsOneWayAndRowsTheOther) {
  dataflow::Setup setup = hpl_circe();
  setup.system.network[0].bandwidth_gb_per_s = 1000;
  const double bytes = rounded(65536.0 * 1024 * 8);
  const auto first = [&](const Defects& defects) {
    return lower(setup, whole_machine(setup), defects).kernels[0].network_ns;
  };
  EXPECT_DOUBLE_EQ(first(kGen2), bytes / (24 * 12.5));
  EXPECT_DOUBLE_EQ(first(kCorrected), bytes / (24 * 12.5));
  setup.system.network = {{Link::kSwitch, 576, 12.5}};
  EXPECT_DOUBLE_EQ(first(kGen2), bytes / 12.5) << "one column: only rows are swapped";
}

}  // namespace
}  // namespace orrery::dataflow
