#include "orrery/formats/dfmodel/setup_overrides.h"

#include <gtest/gtest.h>

#include "orrery/formats/dfmodel/setup_document.h"

namespace orrery::formats::dfmodel {
namespace {

std::shared_ptr<const base::SourceFile> two_kernels() {
  auto file = std::make_shared<base::SourceFile>();
  file->name = "setup.txt";
  file->text = R"(
dataflow_graph {
  kernels { name: "Up" id: 1 config: -1 fwd_bwd: FWD type: SYSTOLIC
    gemm_input1_weight { outer: 1 M: 64 K: 32 N: 16 tiling: N_TILING } }
  kernels { name: "Act" id: 2 config: -1 fwd_bwd: FWD type: SIMD
    elementwise_input1 { outer: 1 M: 64 N: 16 tiling: N_TILING } }
  connections { startIdx: 1 endIdx: 2 id: 1 }
}
system {
  num_chip: 4
  accelerator { core: 8 systolic_width: 4 systolic_height: 4 sram_cap: 1e6 freq: 1 }
  r { x: 4 link_bw_x: 10 par_x: "TP" }
  memory { dram_bw: 100 }
}
miscellany {
  llm { hidden_dim: 32 head_dim: 8 num_head: 4 seq_len: 16 num_layer: 2 global_batch_size: 8 micro_batch_size: 1 }
  execution_style: DATAFLOW num_config: 2 overlap: PERFECT_OVERLAP compute_util: 0.5 word: 2
}
)";
  return file;
}

dataflow::Setup with(const base::Overrides& overrides) {
  return read_setup(two_kernels(), overrides).setup;
}

std::vector<base::Diagnostic> refused(const base::Overrides& overrides) {
  try {
    with(overrides);
  } catch (const base::InputError& error) {
    std::vector<base::Diagnostic> errors;
    for (const base::Diagnostic& said : error.diagnostics)
      if (said.severity == base::Severity::kError) errors.push_back(said);
    return errors;
  }
  return {};
}

TEST(Overrides, ReplaceFieldsWhereverTheyStand) {
  EXPECT_EQ(with({{"system.accelerator.core", "16"}}).system.cores.cores, 16);
  EXPECT_EQ(with({{"system.r.par_x", "DP"}}).system.network[0].parallelism, dataflow::Parallelism::kData);
  EXPECT_EQ(with({{"system.topology.link_bw_x", "12.5"}}).system.network[0].bandwidth_gb_per_s, 12.5);
  EXPECT_EQ(with({{"execution.overlap", "NO_OVERLAP"}}).execution.overlap, dataflow::Overlap::kNone);
  EXPECT_EQ(with({{"dataflow_graph.kernels.Up.M", "128"}}).graph.kernels[0].m, 128);
  EXPECT_EQ(with({{"dataflow_graph.kernels.2.config", "1"}}).graph.kernels[1].configuration, 1);
  EXPECT_TRUE(with({{"dataflow_graph.connections.1.zero_out", "true"}}).graph.edges[0].zero_out);
}

TEST(Overrides, MakeTheBlocksThatTheFileLacks) {
  EXPECT_EQ(with({{"gurobi.thread", "3"}}).solver.threads, 3);
  EXPECT_EQ(with({{"cost.accelerator_price", "100"}, {"cost.dram_unit_price", "1"}}).prices.accelerator_price, 100);
}

TEST(Overrides, TheLastOneOfAFieldCounts) {
  EXPECT_EQ(with({{"system.accelerator.core", "16"}, {"system.accelerator.core", "32"}}).system.cores.cores, 32);
}

TEST(Overrides, PassThroughThirtyTwoBitsAsTheFileDoes) {
  EXPECT_EQ(*with({{"execution.compute_util", "0.9"}}).execution.compute_utilization, static_cast<double>(0.9F));
}

TEST(Overrides, O1421NamesTheFieldThatWasMeant) {
  const auto found = refused({{"system.acelerator.core", "1"}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, "O1421");
  EXPECT_NE(found[0].hints[0].find("accelerator"), std::string::npos);
  EXPECT_EQ(refused({{"dataflow_graph.kernels.Upp.M", "1"}})[0].code, "O1421");
  EXPECT_EQ(refused({{"system", "1"}})[0].code, "O1421");
  EXPECT_EQ(refused({{"system.num_chip.x", "1"}})[0].code, "O1421");
  EXPECT_EQ(refused({{"dataflow_graph.connections.id", "1"}})[0].code, "O1421");
  EXPECT_EQ(refused({{"dataflow_graph.connections.7.zero_out", "true"}})[0].hints[0], "connections go by their ids");
}

TEST(Overrides, AValueThatCannotBeIsRefusedAtTheOption) {
  const auto found = refused({{"system.accelerator.core", "many"}});
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].primary.where.file->name, "<--set system.accelerator.core>");
  EXPECT_FALSE(refused({{"system.accelerator.core", "0"}}).empty());
}

}  // namespace
}  // namespace orrery::formats::dfmodel
