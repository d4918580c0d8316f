// One mistake in a small setup that is else right: which code, which words, which place.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include <source_dir.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/formats/dfmodel/setup_document.h"

namespace orrery::formats::dfmodel {
namespace {

using base::replaced, base::source;

constexpr const char* kRight = R"(dataflow_graph {
  kernels {
    name: "Scores"
    id: 1
    config: -1
    fwd_bwd: FWD
    type: SYSTOLIC
    gemm_input1_weight {
      outer: 4
      M: 64
      K: 256
      N: 128
      input_tensor_size: 65536
      weight_tensor_size: 131072
      output_tensor_size: 65536
      tiling: N_TILING
    }
  }
  kernels {
    name: "Softmax"
    id: 2
    type: SIMD
    elementwise_input1 { outer: 4 M: 64 N: 128 input_tensor_size: 65536 output_tensor_size: 65536 tiling: N_TILING }
  }
  kernels {
    name: "Values"
    id: 3
    type: SYSTOLIC
    gemm_input1_input2 { outer: 4 M: 64 K: 64 N: 128 output_tensor_size: 65536 tiling: N_TILING }
  }
  connections { startIdx: 1 endIdx: 2 id: 1 }
  connections { startIdx: 2 endIdx: 3 id: 2 }
}
system {
  num_chip: 8
  accelerator { core: 640 systolic_width: 32 systolic_height: 6 sram_cap: 335544320.0 freq: 1.25 }
  r_r {
    x: 4
    y: 2
    link_bw_x: 25.0
    link_bw_y: 25.0
    par_x: "TP"
    par_y: "DP"
  }
  memory { dram_bw: 100.0 dram_cap: 1099511600000.0 }
}
cost { link_unit_price: 2.0 accelerator_price: 16522.25023 }
execution {
  llm { hidden_dim: 256 head_dim: 64 num_head: 4 seq_len: 128 num_layer: 2 global_batch_size: 8 micro_batch_size: 1 }
  execution_style: DATAFLOW
  num_config: 3
  overlap: PERFECT_OVERLAP
  word: 2
}
gurobi { thread: 8 gap: 0.001 time: 180 }
)";

// With the first `from` replaced.
std::vector<base::Diagnostic> said_of(const std::string& text) {
  try {
    return read_setup(source(text)).warnings.all();
  } catch (const base::InputError& error) {
    return error.diagnostics;
  }
}

std::string all_words(const base::Diagnostic& said) {
  std::string words = said.message + "\n" + said.primary.text;
  for (const base::Label& label : said.secondary) words += "\n" + label.text;
  for (const std::string& note : said.notes) words += "\n" + note;
  for (const std::string& hint : said.hints) words += "\n" + hint;
  return words;
}

std::string underlined(const base::Location& where) {
  if (!where.known() || where.line == 0) return {};
  std::istringstream in(where.file->text);
  std::string line;
  for (int i = 0; i < where.line; ++i) std::getline(in, line);
  return line.substr(static_cast<std::size_t>(where.column) - 1, static_cast<std::size_t>(where.length));
}

struct Case {
  const char* from;
  const char* to;
  const char* code;
  const char* place;  // what is underlined; nullptr: not looked at
  const char* words;  // somewhere in the message
};

void PrintTo(const Case& mistake, std::ostream* out) {
  *out << mistake.from << " -> " << mistake.to;
}

class SetupMistake : public ::testing::TestWithParam<Case> {};

TEST_P(SetupMistake, IsToldAtItsPlace) {
  const Case& mistake = GetParam();
  const std::vector<base::Diagnostic> said = said_of(replaced(kRight, mistake.from, mistake.to));
  const auto match = std::find_if(said.begin(), said.end(), [&](const base::Diagnostic& one) {
    return one.code == mistake.code && all_words(one).find(mistake.words) != std::string::npos;
  });
  std::string everything;
  for (const base::Diagnostic& one : said) everything += one.code + ": " + all_words(one) + "\n";
  ASSERT_NE(match, said.end()) << "wanted " << mistake.code << " " << mistake.words << ", said:\n" << everything;
  if (mistake.place) {
    EXPECT_EQ(underlined(match->primary.where), mistake.place) << everything;
  }
  // Beside an unknown name's own warning.
  const auto others = std::count_if(said.begin(), said.end(), [](const auto& one) { return one.code != "O1402"; });
  EXPECT_LE(others, 1) << "one mistake, more messages:\n" << everything;
}

const Case kText[] = {
    {"id: 1\n", "id 1\n", "O1400", "1", "after a colon: `id: ...`"},
    {"gurobi { thread: 8 gap: 0.001 time: 180 }", "gurobi { thread: 8", "O1400", "gurobi", "closing brace"},
    {"freq: 1.25 }", "freq: }", "O1400", "}", "`freq` has no value"},
    {"num_chip: 8\n", "num_chip:\n", "O1400", "accelerator", "`num_chip` has no value"},
    {"accelerator {", "accelerator: 7 core {", "O1400", nullptr, "`accelerator` is a block"},
    {"type: SIMD", "type: SIMDD", "O1401", "SIMDD", "did you mean `SIMD`?"},
    {"type: SIMD", "type: \"SIMD\"", "O1401", "\"SIMD\"", "without quotes: `SIMD`"},
    {"overlap: PERFECT_OVERLAP", "overlap: PERFEKT_OVERLAP", "O1401", "PERFEKT_OVERLAP", "`PERFECT_OVERLAP`"},
    {"execution_style: DATAFLOW", "execution_style: dataflow", "O1401", "dataflow", "did you mean `DATAFLOW`?"},
    {"tiling: N_TILING\n", "tiling: Q_TILING\n", "O1401", "Q_TILING", "OUTER_TILING"},
    {"num_chip: 8", "num_chip: 1e3", "O1401", "1e3", "write `1000`"},
    {"num_chip: 8", "num_chip: 8.0", "O1401", "8.0", "write `8`"},
    {"num_chip: 8", "num_chip: 9223372036854775808", "O1401", "9223372036854775808", "64 bits"},
    {"num_chip: 8", "num_chip: eight", "O1401", "eight", "`num_chip` takes a whole number"},
    {"freq: 1.25", "freq: fast", "O1401", "fast", "`freq` takes a number"},
    {"par_x: \"TP\"", "par_x: TP", "O1401", "TP", "write `par_x: \"TP\"`"},
    {"word: 2", "word: 2 separate_rs_ag_for_ar: yes", "O1401", "yes", "`true` or `false`"},
    {"word: 2", "word: 2 separate_rs_ag_for_ar: 7", "O1401", "7", "`true` or `false`"},
    {"core: 640", "core: 640 cores: 3", "O1402", "cores", "did you mean `core`?"},
    {"core: 640", "core: 640 dram_bw: 3", "O1402", "dram_bw", "`dram_bw` belongs in `memory { ... }`"},
    {"K: 64 N", "K: 64 kk { a: 1 b { c: \"}\" } } N", "O1402", "kk", "not known"},
    {"num_chip: 8", "num_chip: 8 num_chip: 8", "O1403", "num_chip: 8", "given twice"},
    {"cost {", "cost { dram_unit_price: 1 }\ncost {", "O1403", "cost", "given twice"},
};
INSTANTIATE_TEST_SUITE_P(Text, SetupMistake, ::testing::ValuesIn(kText));

const Case kGraph[] = {
    {"      M: 64\n", "", "O1404", "gemm_input1_weight", "kernel `Scores` has no `M`"},
    {"      K: 256\n", "", "O1404", "gemm_input1_weight", "kernel `Scores` has no `K`"},
    {"    type: SIMD\n", "", "O1404", "kernels", "kernel `Softmax` has no `type`"},
    {"    type: SIMD\n", "    type: 0\n", "O1404", "kernels", "has no `type`"},
    {"    id: 3\n", "", "O1404", nullptr, "has no `id`"},
    {"startIdx: 2", "", "O1404", "connections", "connection 2 has no `startIdx`"},
    {"tiling: N_TILING\n", "communication_type: ALL_REDUCE\n", "O1404", "gemm_input1_weight",
     "bytes of its ALL_REDUCE"},
    {"      M: 64\n", "      M: 0\n", "O1405", "M: 0", "must be at least 1"},
    {"outer: 4", "outer: -4", "O1405", "outer: -4", "must be at least 1"},
    {"config: -1", "config: -2", "O1405", "config: -2", "must be at least -1"},
    {"weight_tensor_size: 131072", "weight_tensor_size: -1", "O1405", "weight_tensor_size: -1", "not be negative"},
    {"weight_tensor_size: 131072", "weight_tensor_size: nan", "O1405", "weight_tensor_size: nan", "must be a number"},
    {"weight_tensor_size: 131072", "weight_tensor_size: inf", "O1405", "weight_tensor_size: inf", "must be finite"},
    {"weight_tensor_size: 131072", "weight_tensor_size: 1e39", "O1405", "weight_tensor_size: 1e39", "at most 3.4e38"},
    {"elementwise_input1 {", "elementwise_input {", "O1408", "kernels", "does not say what it computes"},
    {"type: SIMD\n", "type: SIMD gemm_input1_input2 { M: 1 K: 1 N: 1 }\n", "O1408", nullptr, "is both"},
    {"id: 3", "id: 4", "O1409", "id: 4", "3 kernels have the ids 1 to 3"},
    {"id: 3", "id: 2", "O1409", "id: 2", "two kernels have the id 2"},
    {"id: 3", "id: 0", "O1409", "id: 0", "count from 1"},
    {"endIdx: 3", "endIdx: 30", "O1410", "endIdx: 30", "did you mean `3`?"},
    {"endIdx: 3", "endIdx: 7 endName: \"Values\"", "O1410", "endIdx: 7", "did you mean 3, the id of `Values`?"},
    {"endIdx: 3", "endIdx: 0", "O1410", "endIdx: 0", "the ids are 1 to 3"},
    {"endIdx: 3", "endIdx: 2", "O1411", "endIdx: 2", "leads from kernel `Softmax` to itself"},
    {"id: 2 }", "id: 2 } connections { startIdx: 3 endIdx: 1 id: 3 }", "O1412", nullptr,
     "`Scores` -> `Softmax` -> `Values` -> `Scores`"},
    {"config: -1", "config: 3", "O1416", "config: 3", "configurations are 0 to 2"},
    {"config: -1", "config: 99999999999", "O1416", "config: 99999999999", "pinned to configuration 99999999999"},
    {"      N: 128\n", "      N: 9000000000000000000\n", "O1417", nullptr, "outer 4 * M 64 * N 9000000000000000000"},
    {"      K: 256\n", "      K: 9000000000000000000\n", "O1417", nullptr, "operand bytes"},
    {"outer: 4 M: 64 N", "sharding: K_SHARDING outer: 4 M: 64 N", "O1419", "sharding: K_SHARDING", "no K to shard"},
    {"output_tensor_size: 65536 tiling: N_TILING }", "output_tensor_size: 65536 tiling: K_TILING }", "O1419",
     "tiling: K_TILING", "no K to tile"},
    {"K: 64 N", "sharding: N_SHARDING K: 64 N", "O1419", "sharding: N_SHARDING", "over chips and over time"},
    {"id: 2 }", "id: 1 }", "O1420", "id: 1", "two connections have the id 1"},
    {"id: 2 }", "id: 2 startName: \"Mask\" }", "O1420", "startName: \"Mask\"", "is called `Softmax`"},
    {"id: 2 }", "id: 2 } connections { startIdx: 1 endIdx: 2 id: 3 }", "O1420", "connections", "counts twice"},
    {"K: 64 N", "communication_size: 3 K: 64 N", "O1420", "communication_size: 3", "not used"},
};
INSTANTIATE_TEST_SUITE_P(Graph, SetupMistake, ::testing::ValuesIn(kGraph));

const Case kSystem[] = {
    {"num_chip: 8", "", "O1404", "system", "`system` has no `num_chip`"},
    {"num_chip: 8", "num_chip: 0", "O1405", "num_chip: 0", "must be at least 1"},
    {"core: 640", "core: 0", "O1405", "core: 0", "must be at least 1"},
    {"systolic_width: 32", "", "O1404", "accelerator", "has no `systolic_width`"},
    {"systolic_height: 6", "systolic_height: -6", "O1405", "systolic_height: -6", "at least 1"},
    {"freq: 1.25", "freq: 0", "O1405", "freq: 0", "must be above 0"},
    {"freq: 1.25", "freq: 1e-60", "O1405", "freq: 1e-60", "cannot be 1e-60"},
    {"freq: 1.25", "freq: 1e300", "O1405", "freq: 1e300", "cannot be 1e300"},
    {"link_unit_price: 2.0", "link_unit_price: 1e-300", "O1405", "link_unit_price: 1e-300", "cannot be 1e-300"},
    {"sram_cap: 335544320.0", "", "O1404", "accelerator", "the bytes of on-chip memory"},
    {"sram_cap: 335544320.0", "pmu: 640", "O1404", "accelerator", "has no `pmu_cap`"},
    {"freq: 1.25", "freq: 1.25 placement: \"rowwize\"", "O1418", "placement: \"rowwize\"", "did you mean `rowwise`?"},
    {"core: 640", "core: 9000000000000000000", "O1417", "core: 9000000000000000000", "multipliers"},
    {"dram_bw: 100.0", "dram_bw: 0", "O1405", "dram_bw: 0", "must be above 0"},
    {"dram_cap: 1099511600000.0", "dram_cap: -1", "O1405", "dram_cap: -1", "must not be negative"},
    {"link_bw_y: 25.0", "link_bw_y: 0", "O1405", "link_bw_y: 0", "must be above 0"},
    {"link_bw_y: 25.0", "", "O1404", "r_r", "bandwidth of a link along y"},
    {"r_r {\n    x: 4\n    y: 2", "r_q { }\n  sw_r {\n    x: 4\n    y: 2", "O1406", "system", "names no topology"},
    {"r_r {", "r { link_bw_x: 1 } r_r {", "O1406", nullptr, "has two topologies: `r` and `r_r`"},
    {"par_y: \"DP\"", "par_y: \"TP\"", "O1413", "par_y: \"TP\"", "two dimensions are given to TP"},
    {"par_y: \"DP\"", "par_y: \"DDP\"", "O1413", "par_y: \"DDP\"", "did you mean `DP`?"},
    {"par_y: \"DP\"", "par_y: \"SP\"", "O1413", "par_y: \"SP\"", "four dimensions"},
    {"x: 4", "x: 5", "O1414", "x: 5", "x 5 * y 2 = 10"},
    {"    x: 4\n    y: 2\n", "    y: 3\n", "O1414", "y: 3", "does not divide 8"},
    {"x: 4\n    y: 2", "x: 4000000000000\n    y: 4000000000000", "O1414", nullptr, "exceeds 64 bits"},
    {"num_chip: 8", "num_chip: 8 HBD: 4", "O1415", "HBD: 4", "three dimensions"},
    {"cost { link_unit_price: 2.0 accelerator_price: 16522.25023 }", "", "O1420", nullptr, "has no `cost`"},
    {"link_unit_price: 2.0", "link_unit_price: -2.0", "O1405", "link_unit_price: -2.0", "must not be negative"},
};
INSTANTIATE_TEST_SUITE_P(System, SetupMistake, ::testing::ValuesIn(kSystem));

const Case kExecution[] = {
    {"execution_style: DATAFLOW", "", "O1404", "execution", "has no `execution_style`"},
    {"num_config: 3", "", "O1420", "execution", "every kernel runs alone"},
    {"num_config: 3", "num_config: 0", "O1405", "num_config: 0", "must be at least 1"},
    {"num_config: 3", "num_config: 20000", "O1405", "num_config: 20000", "must be at most 10000"},
    {"num_config: 3", "num_config: 3000000000", "O1405", "num_config: 3000000000", "at most 10000"},
    {"overlap: PERFECT_OVERLAP", "", "O1404", "execution", "has no `overlap`"},
    {"overlap: PERFECT_OVERLAP", "overlap: NO_OVERLAP perfect_overlap: true", "O1418", "overlap: NO_OVERLAP",
     "contradict"},
    {"word: 2", "", "O1404", "execution", "the bytes of an element"},
    {"word: 2", "word: 0", "O1405", "word: 0", "must be at least 1"},
    {"word: 2", "word: 2 compute_util: 0", "O1405", "compute_util: 0", "must be above 0"},
    {"word: 2", "word: 2 compute_util: 90", "O1405", "compute_util: 90", "`compute_util: 0.9`"},
    {"word: 2", "word: 2 optimization: \"CNM\"", "O1418", "optimization: \"CNM\"", "did you mean `CMN`?"},
    {"seq_len: 128", "", "O1404", "llm", "the tokens of a sequence"},
    {"seq_len: 128", "seq_len: 128 tile_size: 129", "O1405", "tile_size: 129", "128 tokens"},
    {"num_layer: 2", "num_layer: 2 num_layer_in_graph: 3", "O1405", "num_layer_in_graph: 3", "2 layers"},
    {"hidden_dim: 256", "hidden_dim: 9000000000000000000", "O1417", nullptr, "hidden_dim 9000000000000000000"},
    {"llm {", "dlrm { num_table: 1 emb_dim: 1 row: 1 global_batch_size: 1 } llm {", "O1407", nullptr,
     "has two workloads"},
    {"execution_style: DATAFLOW", "hpl { n: 4 b: 8 } execution_style: DATAFLOW", "O1407", "hpl", "has two workloads"},
    {"DATAFLOW\n  num_config: 3", "KERNEL_BY_KERNEL num_config: 4", "O1420", "num_config: 4", "run one by one"},
    {"gurobi {", "miscellany { llm { } }\ngurobi {", "O1418", "miscellany", "two names of the same block"},
    {"thread: 8", "thread: -8", "O1405", "thread: -8", "must not be negative"},
    {"gap: 0.001", "gap: nan", "O1405", "gap: nan", "must be a number"},
    {"output_tensor_size: 65536", "output_tensor_size: 7", "O1420", "output_tensor_size: 7",
     "outer 4 * M 64 * N 128 * word 2"},
    {"N: 128\n", "N: 128 communication_type: BROADCAST communication_size: 5\n", "O1420",
     "communication_type: BROADCAST", "takes no time"},
    {"N: 128\n", "N: 128 use_effective_stage: true\n", "O1404", "use_effective_stage: true", "give `effective_stage`"},
};
INSTANTIATE_TEST_SUITE_P(Execution, SetupMistake, ::testing::ValuesIn(kExecution));

TEST(SetupMistakes, TheSetupWithoutThemIsRight) {
  EXPECT_TRUE(said_of(kRight).empty());
}

TEST(SetupMistakes, AnEmptyFileLacksItsBlocks) {
  const auto said = said_of("# nothing\n");
  ASSERT_EQ(said.size(), 4u);  // and a warning for prices
  EXPECT_EQ(said[0].message, "the setup has no `execution`: what is computed, and how");
  EXPECT_EQ(said[1].message, "the setup has no `dataflow_graph`: the kernels and their connections");
  EXPECT_EQ(said[2].message, "the setup has no `system`: the accelerators and their network");
}

TEST(SetupMistakes, AWorkloadOfAnotherNameIsPointedAt) {
  const auto said = said_of(replaced(kRight, "  llm {", "  lmm {"));
  const auto none = std::find_if(said.begin(), said.end(), [](const auto& one) { return one.code == "O1407"; });
  ASSERT_NE(none, said.end());
  ASSERT_EQ(none->secondary.size(), 1u);
  EXPECT_EQ(underlined(none->secondary[0].where), "lmm");
}

TEST(SetupMistakes, AllAreToldAtOnce) {
  std::string text = replaced(kRight, "type: SIMD", "type: SIMDD");
  text = replaced(text, "num_chip: 8", "num_chip: 1e3");
  text = replaced(text, "core: 640", "core: 0");
  text = replaced(text, "endIdx: 3", "endIdx: 9");
  text = replaced(text, "word: 2", "word: 2 word: 4 wort: 3");
  std::vector<std::string> codes;
  for (const auto& one : said_of(text)) codes.push_back(one.code);
  std::sort(codes.begin(), codes.end());
  EXPECT_EQ(codes, (std::vector<std::string>{"O1401", "O1401", "O1402", "O1403", "O1405", "O1410"}));
}

TEST(SetupMistakes, PlacesCountBytesAfterTabs) {
  const auto said = said_of(replaced(kRight, "  num_chip: 8", "\t\tnum_chip:\t0"));
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].primary.where.column, 3);
  EXPECT_EQ(underlined(said[0].primary.where), "num_chip:\t0");
}

TEST(SetupMistakes, AByteOrderMarkAndCarriageReturnsAreNone) {
  std::string text;
  for (const char c : std::string(kRight)) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_TRUE(said_of("\xef\xbb\xbf" + text).empty());
}

TEST(SetupMistakes, OfTwoTheFirstInTheTextIsTheFirst) {
  const auto said = said_of(replaced(kRight, "llm {", "hpl { n: 8 b: 8 } llm {"));
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].message, "`execution` has two workloads: `hpl` and `llm`");
}

TEST(SetupMistakes, DeepNestingIsRefused) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "a {";
  const auto said = said_of(text);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].code, "O1400");
}

TEST(SetupMistakes, AFolderWithoutASetupIsRefused) {
  EXPECT_EQ(base::codes_of([] { load_setup(ORRERY_SOURCE_DIR "/src"); }), base::Codes{"O0100"});
}

std::vector<std::string> warnings_with(const std::string& right, const std::string& wrong) {
  std::string text = kRight;
  text.replace(text.find(right), right.size(), wrong);
  std::vector<std::string> messages;
  const SetupDocument document = read_setup(source(text), {});
  for (const base::Diagnostic& warning : document.warnings.all())
    if (warning.code == "O1420") messages.push_back(warning.message);
  return messages;
}

TEST(SetupMistakes, SizesThatAShapeDoesNotMakeAreTold) {
  using Messages = std::vector<std::string>;
  const std::string input = "input_tensor_size: 65536\n", weight = "weight_tensor_size: 131072\n";
  const std::string stated = warnings_with(weight, "weight_tensor_size: 131071\n").at(0);
  EXPECT_EQ(stated, "`weight_tensor_size` of kernel `Scores` is 131071, and its shape makes 131072 bytes");
  EXPECT_EQ(warnings_with(weight, "weight_tensor_size: 262144\n").size(), 1u);
  EXPECT_EQ(warnings_with(input, "input_tensor_size: 7\n").size(), 1u);
  EXPECT_EQ(warnings_with(input, "input_tensor_size: 262144\n"), Messages{}) << "outer 4 * K 256 * N 128 * word 2";
  EXPECT_EQ(warnings_with(input, input), Messages{}) << "shared by the four of `outer`";
}

TEST(SetupMistakes, ConfigurationsNeedNotBeCountedWhenKernelsRunOneByOne) {
  EXPECT_TRUE(said_of(replaced(replaced(kRight, "num_config: 3", ""), "DATAFLOW", "KERNEL_BY_KERNEL")).empty());
}

}  // namespace
}  // namespace orrery::formats::dfmodel
