#include "orrery/formats/dfmodel/setup_document.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "orrery/base/text/files_test_util.h"
#include "orrery/formats/dfmodel/goldens_test_util.h"

namespace orrery::formats::dfmodel {
namespace {

namespace fs = std::filesystem;

SetupDocument golden(const std::string& name) {
  return load_setup((kGoldens / name / "setup.txt").string());
}

TEST(IsSetup, TellsSetupsFromOtherFiles) {
  const fs::path folder = fs::temp_directory_path() / "orrery_is_setup_test";
  fs::create_directories(folder / "user_input");
  const auto holds = [&](const char* text) {
    std::ofstream(folder / "user_input" / "setup.txt") << text;
    const bool file = is_setup((folder / "user_input" / "setup.txt").string());
    EXPECT_EQ(is_setup(folder.string()), file) << text;
    return file;
  };
  EXPECT_TRUE(holds("# a remark\n\n  dataflow_graph {\n}\n"));
  EXPECT_TRUE(holds("system\n{ num_chip: 1 }"));
  EXPECT_FALSE(holds("system:\n  num_chip: 1\n"));
  EXPECT_FALSE(holds("architecture {\n"));
  EXPECT_FALSE(holds(""));
  fs::remove_all(folder);
  EXPECT_FALSE(is_setup(folder.string()));
}

class Golden : public ::testing::Test {
 protected:
  void SetUp() override { ORRERY_NEEDS_SHARED(); }
};

TEST_F(Golden, EveryCaseIsReadWithoutAWarning) {
  int cases = 0;
  for (const fs::directory_entry& folder : fs::directory_iterator(kGoldens)) {
    if (!fs::exists(folder.path() / "setup.txt")) continue;
    ++cases;
    const SetupDocument document = load_setup(folder.path().string());
    EXPECT_TRUE(document.warnings.all().empty()) << folder.path();
    EXPECT_FALSE(document.setup.graph.kernels.empty()) << folder.path();
    EXPECT_TRUE(workload::find_cycle(document.setup.graph).empty()) << folder.path();
  }
  EXPECT_EQ(cases, 16);
}

TEST_F(Golden, TheReadmeCaseHasItsFigures) {
  const SetupDocument document = golden("llm1t_sn30_r_r_ddr_pcie_df6");
  const dataflow::Setup& setup = document.setup;
  ASSERT_EQ(setup.graph.kernels.size(), 41u);
  EXPECT_EQ(setup.graph.edges.size(), 53u);
  EXPECT_TRUE(setup.graph.has_backward());
  const workload::Kernel& q = setup.graph.kernels[2];
  EXPECT_EQ(q.name, "Q");
  EXPECT_EQ(q.operands, workload::Operands::kInputAndWeight);
  EXPECT_EQ(q.outer, 160);
  EXPECT_EQ(q.m, 160);
  EXPECT_EQ(q.k, 25600);
  EXPECT_EQ(q.n, 2048);
  EXPECT_EQ(q.second_bytes, 1310720000.0);
  EXPECT_EQ(q.tiling, workload::KernelDimension::kN);
  EXPECT_EQ(q.configuration, -1);
  EXPECT_FALSE(q.sharding.has_value());
  const workload::Kernel& update = setup.graph.kernels[40];
  EXPECT_EQ(update.direction, workload::Direction::kBackward);
  EXPECT_EQ(update.tiling, workload::KernelDimension::kK);
  EXPECT_EQ(update.communication, workload::Communication::kPeriodicAllReduce);
  EXPECT_EQ(setup.graph.edges.back().from, 1);
  EXPECT_EQ(setup.graph.edges.back().to, 40);
  EXPECT_EQ(setup.system.chips, 1024);
  EXPECT_EQ(setup.system.cores.cores, 1280);
  ASSERT_EQ(setup.system.network.size(), 2u);
  EXPECT_EQ(setup.system.network[0].size, 8);
  EXPECT_EQ(setup.system.network[1].parallelism, dataflow::Parallelism::kPipeline);
  EXPECT_EQ(setup.prices.accelerator_price, 16522.25);  // 16522.25023 in 32 bits
  EXPECT_EQ(*setup.execution.compute_utilization, static_cast<double>(0.9f));
  EXPECT_EQ(setup.execution.overlap, dataflow::Overlap::kPerfect);
  EXPECT_EQ(setup.execution.configurations, 6);
  EXPECT_EQ(std::get<dataflow::LanguageModelRun>(setup.execution.workload).tile_size, 2048);
  EXPECT_TRUE(std::get<dataflow::LanguageModelRun>(setup.execution.workload).tile_size_counts_tiles);
  EXPECT_EQ(setup.solver.threads, 8);
  EXPECT_EQ(setup.solver.seconds, 180);
}

TEST_F(Golden, OtherWorkloadsHaveTheirs) {
  const auto dlrm = golden("dlrm_I_a100_r_fc_8x16_kbk").setup;
  EXPECT_EQ(std::get<dataflow::Recommendation>(dlrm.execution.workload).rows, 60144927);
  EXPECT_EQ(dlrm.system.network[1].link, dataflow::Link::kFullyConnected);
  EXPECT_FALSE(dlrm.system.network[0].parallelism.has_value());
  EXPECT_EQ(dlrm.graph.kernels[2].memory_bytes, 1582694400.0);

  const auto hpl = golden("hpl_Eos_sw_sw").setup;
  EXPECT_EQ(std::get<dataflow::Linpack>(hpl.execution.workload).block, 4096);
  EXPECT_EQ(hpl.graph.kernels.size(), 64u);
  EXPECT_EQ(hpl.graph.kernels[0].second_communication, workload::Communication::kPointToPoint);
  EXPECT_EQ(hpl.graph.kernels[0].second_communication_bytes, static_cast<double>(8589935000.0f));

  const auto fft = golden("fft_a100_sw_sw_4096").setup;
  EXPECT_EQ(std::get<dataflow::FourierTransform>(fft.execution.workload).length, 4398050000000);
  EXPECT_EQ(fft.graph.kernels[1].communication, workload::Communication::kAllToAll);
  EXPECT_EQ(fft.graph.kernels[0].configuration, -1);

  const auto megatron = golden("llm1t_a100_megatron_r_r_r_kbk_nooverlap").setup;
  EXPECT_EQ(megatron.execution.overlap, dataflow::Overlap::kNone);
  EXPECT_EQ(megatron.execution.style, dataflow::Style::kKernelByKernel);

  const auto decode = golden("serving_genz_decode_8x").setup;
  EXPECT_EQ(decode.execution.overlap, dataflow::Overlap::kComputeMemory);
  EXPECT_TRUE(decode.execution.separate_reduce_scatter_all_gather);
  EXPECT_EQ(decode.system.link_latency_ns, 2000);

  EXPECT_EQ(golden("ssm_attn_256k_rdu_df1").setup.system.network[0].size, 1);  // not given: all chips
  EXPECT_EQ(golden("llm175b_sn10_8x1_vendor_df4").setup.graph.kernels[2].configuration, 0);
}

TEST_F(Golden, PlacesPointToTheLines) {
  const SetupDocument document = golden("llm1t_sn30_r_r_ddr_pcie_df6");
  const auto text_at = [](const base::Location& where) {
    std::istringstream in(where.file->text);
    std::string line;
    for (int i = 0; i < where.line; ++i) std::getline(in, line);
    return line.substr(static_cast<std::size_t>(where.column) - 1, static_cast<std::size_t>(where.length));
  };
  EXPECT_EQ(text_at(document.places.kernel(2, "K")), "K: 25600");
  EXPECT_EQ(text_at(document.places.kernel(2, "name")), "name: \"Q\"");
  EXPECT_EQ(text_at(document.places.kernel(2, "sharding")), "kernels");
  EXPECT_EQ(text_at(document.places.edge(52)), "connections");
  EXPECT_EQ(text_at(document.places.edge(52, "endIdx")), "endIdx: 41");
  EXPECT_EQ(text_at(document.places.at("system.accelerator.sram_cap")), "sram_cap: 671088640.0");
  EXPECT_EQ(text_at(document.places.at("system.topology.par_y")), "par_y: \"PP\"");
  EXPECT_EQ(text_at(document.places.at("execution.workload.seq_len")), "seq_len: 2048");
  EXPECT_EQ(text_at(document.places.at("execution.overlap")), "miscellany");
}

}  // namespace
}  // namespace orrery::formats::dfmodel
