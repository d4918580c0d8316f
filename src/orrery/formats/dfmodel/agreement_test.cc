#include "orrery/formats/dfmodel/agreement.h"

#include <gtest/gtest.h>

#include <filesystem>

#include <source_dir.h>

#include "orrery/base/text/files_test_util.h"
#include "orrery/formats/dfmodel/goldens_test_util.h"

namespace orrery::formats::dfmodel {
namespace {

namespace fs = std::filesystem;

const fs::path kExamples = fs::path(ORRERY_SOURCE_DIR) / "examples" / "dataflow";

using Found = std::vector<std::pair<std::string, std::string>>;  // code, words between the first quotes

Found agreement(const fs::path& path, const base::Overrides& overrides = {}) {
  const SetupDocument document = load_setup(path.string(), overrides);
  base::Diagnostics found;
  check_agreement(document, found);
  Found words;
  for (const base::Diagnostic& diagnostic : found.all()) {
    EXPECT_TRUE(diagnostic.primary.where.known());
    EXPECT_EQ(diagnostic.secondary.size(), 1u) << "the graph's place";
    const std::string& text = diagnostic.message;
    words.emplace_back(diagnostic.code, text.substr(1, text.find('`', 1) - 1));
  }
  return words;
}

Found example(const std::string& name, const base::Overrides& overrides = {}) {
  return agreement(kExamples / name, overrides);
}

Found against(const char* field) {
  return {{"O1422", field}};
}

TEST(Agreement, TheExamplesTellOfOneWorkload) {
  for (const char* name : {"gpt3_175b.txt", "gpt3_1t.txt", "hpl.txt", "fft.txt", "hyena.txt"})
    EXPECT_EQ(example(name), Found{}) << name;
}

TEST(Agreement, PublishedSetupsTellOfOneWorkload) {
  ORRERY_NEEDS_SHARED();
  for (const fs::directory_entry& folder : fs::directory_iterator(kGoldens)) {
    const fs::path setup = folder.path() / "setup.txt";
    if (fs::exists(setup)) {
      EXPECT_EQ(agreement(setup), Found{}) << setup;
    }
  }
}

TEST(Agreement, ExchangedEmbeddingsAreWholeRowsForEverySample) {
  const fs::path setup = kGoldens / "dlrm_I_a100_r_fc_8x16_kbk" / "setup.txt";
  ORRERY_NEEDS_SHARED();
  EXPECT_EQ(agreement(setup, {{"execution.dlrm.emb_dim", "91"}}), against("emb_dim"));
  EXPECT_EQ(agreement(setup, {{"execution.dlrm.row", "1000"}}), Found{});
}

TEST(Agreement, EachFieldOfALanguageModelIsComparedWithItsKernels) {
  for (const char* file : {"gpt3_175b.txt", "gpt3_1t.txt"}) {
    for (const auto& [field, value] :
         {std::pair{"seq_len", "8192"}, std::pair{"hidden_dim", "1"}, std::pair{"num_head", "7"},
          std::pair{"head_dim", "64"}, std::pair{"num_layer_in_graph", "2"}})
      EXPECT_EQ(example(file, {{std::string("execution.llm.") + field, value}}), against(field)) << file;
    for (const char* free : {"num_layer", "global_batch_size", "micro_batch_size"})
      EXPECT_EQ(example(file, {{std::string("execution.llm.") + free, "4"}}), Found{}) << free;
  }
}

TEST(Agreement, OneKernelOfAKnownNameThatSaysOtherwiseIsEnough) {
  EXPECT_EQ(example("gpt3_175b.txt", {{"dataflow_graph.kernels.FFN0.N", "4096"}}), against("seq_len"));
  EXPECT_EQ(example("gpt3_175b.txt", {{"dataflow_graph.kernels.SOFTMAX.outer", "48"}}), against("num_head"));
}

TEST(Agreement, LinpacksMatrixAndBlocksAreThoseOfItsKernels) {
  EXPECT_EQ(example("hpl.txt", {{"execution.hpl.n", "131072"}}), against("n"));
  EXPECT_EQ(example("hpl.txt", {{"execution.hpl.b", "512"}}), against("b"));
  EXPECT_EQ(example("hpl.txt", {{"execution.hpl.num_copy", "2"}}), Found{});
}

TEST(Agreement, ATransformsPointsAreThoseOfItsStepsUpToSixDigits) {
  EXPECT_EQ(example("fft.txt", {{"execution.fft.length", "1024"}}), against("length"));
  EXPECT_EQ(example("fft.txt", {{"execution.fft.length", "1099510000000"}}), Found{});
  EXPECT_EQ(example("fft.txt", {{"execution.fft.length", "1099400000000"}}), against("length"));
  EXPECT_EQ(example("fft.txt", {{"execution.fft.length", "1000"},
                                {"dataflow_graph.kernels.Step_1.M", "31"},
                                {"dataflow_graph.kernels.Step_1.N", "31"},
                                {"dataflow_graph.kernels.Step_2.M", "31"},
                                {"dataflow_graph.kernels.Step_2.N", "31"}}),
            against("length"))
      << "31 * 31 points are no 1000";
}

// Kernels of no known name: a stack of two products by weights and attention between them.
std::string stranger(const std::string& execution, int tokens_of_last = 128) {
  return R"(dataflow_graph {
  kernels { name: "In" id: 1 type: SYSTOLIC gemm_input1_weight { M: 256 K: 256 N: 128 tiling: N_TILING } }
  kernels { name: "Mix" id: 2 type: SYSTOLIC gemm_input1_input2 { outer: 4 M: 128 K: 64 N: 128 tiling: N_TILING } }
  kernels { name: "Up" id: 3 type: SYSTOLIC gemm_input1_weight { M: 512 K: 256 N: 128 tiling: N_TILING } }
  kernels { name: "Out" id: 4 type: SYSTOLIC gemm_input1_weight { M: 256 K: 512 N: )" +
         std::to_string(tokens_of_last) + R"( tiling: N_TILING } }
  connections { startIdx: 1 endIdx: 2 id: 1 } connections { startIdx: 2 endIdx: 3 id: 2 } connections { startIdx: 3 endIdx: 4 id: 3 }
}
system { num_chip: 1 accelerator { core: 64 systolic_width: 32 systolic_height: 6 sram_cap: 335544320.0 freq: 1.25 }
  r { link_bw_x: 25.0 } memory { dram_bw: 100.0 } }
execution { llm { )" +
         execution + R"( num_layer: 2 global_batch_size: 8 micro_batch_size: 1 }
  execution_style: KERNEL_BY_KERNEL overlap: PERFECT_OVERLAP word: 2 })";
}

Found of_text(const std::string& text) {
  auto file = std::make_shared<base::SourceFile>();
  file->name = "setup.txt";
  file->text = text;
  base::Diagnostics found;
  check_agreement(read_setup(file), found);
  Found words;
  for (const base::Diagnostic& diagnostic : found.all())
    words.emplace_back(diagnostic.code, diagnostic.message.substr(1, diagnostic.message.find('`', 1) - 1));
  return words;
}

TEST(Agreement, OfKernelsOfOtherNamesTheMajorityCounts) {
  EXPECT_EQ(of_text(stranger("hidden_dim: 256 head_dim: 64 num_head: 4 seq_len: 128")), Found{});
  EXPECT_EQ(of_text(stranger("hidden_dim: 300 head_dim: 64 num_head: 4 seq_len: 128")), against("hidden_dim"));
  EXPECT_EQ(of_text(stranger("hidden_dim: 256 head_dim: 64 num_head: 8 seq_len: 128")), against("num_head"));
  EXPECT_EQ(of_text(stranger("hidden_dim: 256 head_dim: 48 num_head: 4 seq_len: 128")), against("head_dim"));
  EXPECT_EQ(of_text(stranger("hidden_dim: 256 head_dim: 64 num_head: 4 seq_len: 96")), against("seq_len"));
  EXPECT_EQ(of_text(stranger("hidden_dim: 256 seq_len: 128", 1)), (Found{{"O1424", "seq_len"}}))
      << "logits of the last token alone would look like this";
}

TEST(UnreadFields, AreNamed) {
  const SetupDocument document =
      load_setup((kExamples / "gpt3_175b.txt").string(), {{"system.memory.second_dram_bw", "100"},
                                                          {"system.accelerator.placement", "rowwise"},
                                                          {"execution.effective_stage", "3"},
                                                          {"dataflow_graph.connections.1.tensor_size", "7"}});
  base::Diagnostics found;
  name_unread_fields(document, found);
  std::vector<std::string> messages;
  for (const base::Diagnostic& diagnostic : found.all()) messages.push_back(diagnostic.code + " " + diagnostic.message);
  EXPECT_EQ(messages,
            (std::vector<std::string>{"O1423 `second_dram_bw` is not used", "O1423 `placement` is not used",
                                      "O1423 `tensor_size` is not used", "O1423 `effective_stage` is not used"}));
}

}  // namespace
}  // namespace orrery::formats::dfmodel
