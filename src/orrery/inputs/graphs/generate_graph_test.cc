#include "orrery/inputs/graphs/generate_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/files_test_util.h"
#include "orrery/describe/workload/graphs/block_kernels.h"
#include "orrery/describe/workload/transformer_facts.h"
#include "orrery/formats/dfmodel/setup_document.h"
#include "orrery/formats/dfmodel/setup_text.h"
#include "orrery/inputs/catalogue/catalogue.h"

namespace orrery::verbs {
namespace {

using base::Codes;

using base::Count;
using workload::Kernel;
using workload::KernelGraph;

struct Golden {
  std::string name;
  GraphRequest request;
};

GraphRequest asked(const std::string& kind, std::map<std::string, Count> sizes) {
  GraphRequest request;
  request.kind = kind;
  request.sizes = std::move(sizes);
  return request;
}

std::vector<Golden> goldens() {
  const GraphRequest gpt175 = asked("llm-fwd", {{"hidden", 12288}, {"num_head", 96}, {"head_dim", 128}, {"seq", 2048}});
  const GraphRequest gpt1t = asked("llm", {{"hidden", 25600}, {"num_head", 160}, {"head_dim", 160}, {"seq", 2048}});
  std::vector<Golden> list = {
      {"llm1t_sn30_r_r_ddr_pcie_df6", gpt1t},
      {"llm1t_a100_megatron_r_r_r_kbk_nooverlap", gpt1t},
      {"llm13b_sn10_r_dp16_seq2048_kbk", asked("llm", {{"hidden", 5120}, {"num_head", 40}, {"seq", 2048}})},
      {"llm175b_sn10_4x2_df5", gpt175},
      {"llm175b_sn10_8x1_df4", gpt175},
      {"llm175b_sn10_8x1_kbk", gpt175},
      {"serving_genz_decode_8x",
       asked("decode", {{"hidden", 12288}, {"num_head", 96}, {"context", 10001}, {"num_chip", 12}, {"word", 1}})},
      {"ssm_attn_256k_rdu_df1", asked("attention", {{"hidden", 32}, {"num_head", 2}, {"seq", 262144}})},
      {"dlrm_I_a100_r_fc_8x16_kbk", asked("dlrm", {{"bottom_num_mlp", 3},
                                                   {"top_num_mlp", 3},
                                                   {"mlp_dim", 1825},
                                                   {"num_table", 60},
                                                   {"pooled_row", 70},
                                                   {"emb_dim", 92},
                                                   {"micro_batch_size", 2048}})},
      {"hpl_Eos_sw_sw", asked("hpl", {{"n", 262144}, {"b", 4096}})},
      {"hpl_Circe_sw_sw", asked("hpl", {{"n", 65536}, {"b", 1024}})},
  };
  for (const char* chips : {"256", "512", "1024", "4096"})
    list.push_back({std::string("fft_a100_sw_sw_") + chips, asked("fft", {})});
  return list;
}

// As published files hold numbers: through 32 bits, and with eight decimal digits.
bool same_bytes(double generated, double published) {
  return std::abs(generated - published) <= std::abs(published) * 1e-7;
}

void expect_equal(const Kernel& made, const Kernel& published) {
  EXPECT_EQ(made.name, published.name);
  EXPECT_EQ(made.unit, published.unit);
  EXPECT_EQ(made.direction, published.direction);
  EXPECT_EQ(made.operands, published.operands);
  EXPECT_EQ(made.outer, published.outer);
  EXPECT_EQ(made.m, published.m);
  EXPECT_EQ(made.k, published.k);
  EXPECT_EQ(made.n, published.n);
  EXPECT_PRED2(same_bytes, made.input_bytes, published.input_bytes);
  EXPECT_PRED2(same_bytes, made.second_bytes, published.second_bytes);
  EXPECT_PRED2(same_bytes, made.output_bytes, published.output_bytes);
  EXPECT_EQ(made.sharding, published.sharding);
  EXPECT_EQ(made.tiling, published.tiling);
  EXPECT_EQ(made.communication, published.communication);
  EXPECT_PRED2(same_bytes, made.communication_bytes, published.communication_bytes);
  EXPECT_EQ(made.second_communication, published.second_communication);
  EXPECT_PRED2(same_bytes, made.second_communication_bytes, published.second_communication_bytes);
  EXPECT_EQ(made.configuration, published.configuration);
  EXPECT_PRED2(same_bytes, made.memory_bytes, published.memory_bytes);
  EXPECT_EQ(made.inputs, published.inputs);
  EXPECT_EQ(made.skip_weight, published.skip_weight);
}

void expect_equal(const KernelGraph& made, const KernelGraph& published) {
  ASSERT_EQ(made.kernels.size(), published.kernels.size());
  ASSERT_EQ(made.edges.size(), published.edges.size());
  for (std::size_t k = 0; k < made.kernels.size(); ++k) {
    SCOPED_TRACE(published.kernels[k].name);
    expect_equal(made.kernels[k], published.kernels[k]);
  }
  for (std::size_t e = 0; e < made.edges.size(); ++e) {
    EXPECT_EQ(made.edges[e].from, published.edges[e].from) << e;
    EXPECT_EQ(made.edges[e].to, published.edges[e].to) << e;
  }
}

TEST(GenerateGraph, EqualsPublishedGraphsKernelByKernelAndEdgeByEdge) {
  const std::filesystem::path folder = base::kShared / "goldens/dataflow";
  ORRERY_NEEDS_SHARED();
  for (Golden& golden : goldens()) {
    SCOPED_TRACE(golden.name);
    const dataflow::Setup setup = formats::dfmodel::load_setup((folder / golden.name / "setup.txt").string()).setup;
    if (golden.request.kind == "fft")
      golden.request.sizes["length"] = std::get<dataflow::FourierTransform>(setup.execution.workload).length;
    expect_equal(generate_graph(golden.request).graph, setup.graph);
  }
}

TEST(GenerateGraph, WhatIsWrittenAsTextReadsBackToTheSameGraph) {
  for (Golden& golden : goldens()) {
    SCOPED_TRACE(golden.name);
    if (golden.request.kind == "fft") golden.request.sizes["length"] = 1'000'014'129;
    const KernelGraph graph = generate_graph(golden.request).graph;
    const std::string text =
        formats::dfmodel::write_graph(graph) +
        "system { num_chip: 1 accelerator { core: 1 systolic_width: 1 systolic_height: 1 sram_cap: 1 freq: 1 } r { x: "
        "1 "
        "link_bw_x: 1 } memory { dram_bw: 1 dram_cap: 1 } } cost { } execution { fft { length: 4 num_copy: 1 } "
        "execution_style: KERNEL_BY_KERNEL overlap: PERFECT_OVERLAP word: 1 }";
    const auto file = base::source(text, "setup.txt");
    expect_equal(graph, formats::dfmodel::read_setup(file).setup.graph);
  }
}

Codes codes_of(const GraphRequest& request) {
  return base::codes_of([&] { generate_graph(request); });
}

TEST(GenerateGraph, RefusesKindsThatAreNone) {
  EXPECT_EQ(codes_of(asked("llms", {})), (Codes{"O1480"}));
  EXPECT_EQ(codes_of(asked("", {})), (Codes{"O1480"}));
}

TEST(GenerateGraph, NamesEverySizeThatIsMissing) {
  EXPECT_EQ(codes_of(asked("llm", {})), (Codes(3, "O1481")));
  EXPECT_EQ(codes_of(asked("dlrm", {{"mlp_dim", 1}})), (Codes(6, "O1481")));
}

TEST(GenerateGraph, RefusesSizesOfOtherKinds) {
  EXPECT_EQ(codes_of(asked("fft", {{"length", 16}, {"hidden", 4}, {"seq", 4}})), (Codes{"O1487", "O1487"}));
}

TEST(GenerateGraph, EverySizeBelongsToSomeKindAndEveryKindHasOne) {
  for (const GraphSize& size : graph_sizes()) {
    EXPECT_FALSE(size.needed.empty() && size.taken.empty()) << size.name;
    for (const std::vector<std::string>& kinds : {size.needed, size.taken})
      for (const std::string& kind : kinds)
        EXPECT_TRUE(std::any_of(graph_kinds().begin(), graph_kinds().end(),
                                [&](const GraphKind& known) { return known.name == kind; }))
            << size.name << " " << kind;
  }
}

TEST(GenerateGraph, WrittenZerosStandForNoDefault) {
  EXPECT_EQ(codes_of(asked("llm", {{"hidden", 64}, {"num_head", 4}, {"seq", 8}, {"ffn", 0}, {"kv_heads", 0}})),
            (Codes{"O1482", "O1482"}));
}

TEST(GenerateGraph, SizesBelowOneAreNamedAllAtOnceThoseThatTheGraphDoesNotDependOnAmongThem) {
  EXPECT_EQ(codes_of(asked("llm", {{"hidden", 64}, {"num_head", 0}, {"seq", -1}, {"num_layer", 0}})),
            (Codes(3, "O1482")));
  EXPECT_EQ(codes_of(asked("hpl", {{"n", 4}, {"b", 2}, {"x", 0}, {"y", -1}})), (Codes(2, "O1482")));
}

TEST(GenerateGraph, HeadsAsWideAsTheModelTogetherAreWantedWhereBothAreWritten) {
  EXPECT_EQ(codes_of(asked("llm", {{"hidden", 64}, {"num_head", 4}, {"head_dim", 32}, {"seq", 8}})), (Codes{"O1483"}));
}

TEST(GenerateGraph, AModelGivesItsSizesAndOptionsGoBefore) {
  GraphRequest request = asked("llm-fwd", {{"seq", 4096}});
  request.model = "llama3-70b";
  const GeneratedGraph generated = generate_graph(request);
  EXPECT_EQ(generated.parameter("hidden"), 8192);
  EXPECT_EQ(generated.parameter("num_layer"), 80);
  EXPECT_EQ(generated.parameter("seq"), 4096);
  EXPECT_EQ(generated.graph.kernels[3].outer, 8);
  EXPECT_EQ(generated.graph.kernels[13].m, 2 * 28672);
  EXPECT_EQ(generated.inputs.size(), 1u);
  EXPECT_EQ(generated.notes.size(), 3u);
}

GeneratedGraph of_model(const std::string& kind, const std::string& model, std::map<std::string, Count> sizes = {}) {
  GraphRequest request = asked(kind, std::move(sizes));
  request.model = model;
  return generate_graph(request);
}

TEST(GenerateGraph, DrawsALayerOfTheCommonestKindAndTellsOfTheOthers) {
  const GeneratedGraph mixture = of_model("llm-fwd", "deepseek-v3", {{"seq", 4096}});
  EXPECT_EQ(mixture.parameter("num_layer"), 58);
  EXPECT_EQ(mixture.parameter("num_expert"), 256);
  EXPECT_TRUE(std::any_of(mixture.notes.begin(), mixture.notes.end(), [](const std::string& note) {
    return note.starts_with("this is layer 4; layers are 3 of attention to all tokens, dense (`--layer 1`)");
  }));
  const GeneratedGraph dense = of_model("llm-fwd", "deepseek-v3", {{"seq", 4096}, {"layer", 1}});
  EXPECT_EQ(dense.parameter("num_layer"), 3);
  EXPECT_EQ(dense.parameter("ffn"), 18432);
  const GeneratedGraph first = of_model("llm-fwd", "deepseek-v3", {{"seq", 4096}, {"num_layer_in_graph", 4}});
  EXPECT_EQ(first.parameter("num_layer"), 61);
}

// Products of matrices are those of workload::forward_flop, layer by layer; attention to all tokens, and of a window or
// chunk so many of them as a query sees at most. Experts' tokens are rounded up, of kimi-k2's alone with effect here.
TEST(GenerateGraph, FlopAndWeightsOfEveryCatalogueModelAreThoseOfItsDescription) {
  const std::string directory = catalogue_directory();
  int models = 0;
  for (const Entry& entry : list_models(directory)) {
    SCOPED_TRACE(entry.name);
    const workload::Transformer model =
        load_model(directory, entry.name, {{}, formats::huggingface::Outside::kPassed, ""}).transformer;
    const workload::Stack& stack = model.decoder();
    // What has no kernels is refused by name.
    const base::Codes refused = base::codes_of([&] { of_model("llm-fwd", entry.name, {{"seq", 2048}}); });
    if (!refused.empty() && refused.front() == "O1488") continue;
    ++models;
    for (std::size_t k = 0; k < stack.kinds.size(); ++k) {
      const auto layer = std::find(stack.layers.begin(), stack.layers.end(), static_cast<int>(k));
      if (layer == stack.layers.end()) continue;
      const workload::Block& block = stack.kinds[k];
      const GeneratedGraph made =
          of_model("llm-fwd", entry.name, {{"seq", 2048}, {"layer", layer - stack.layers.begin() + 1}});
      double products = 0, weights = 0;
      for (const Kernel& kernel : made.graph.kernels) {
        if (kernel.unit != workload::KernelUnit::kSystolic) continue;
        products += flop(kernel);
        if (kernel.has_weight()) weights += kernel.second_bytes;
      }
      workload::Transformer alone;
      alone.stacks = {stack};
      alone.stacks.front().kinds = {block};
      alone.stacks.front().layers = {0};
      const workload::ForwardFlop expected = workload::forward_flop(alone, 2048);
      double attention = expected.attention;
      if (const auto* a = std::get_if<workload::Attention>(&block.mixer))
        attention *= static_cast<double>(workload::seen_tokens(*a, 2048)) / 2048;
      double rounded = 0;  // columns that experts have beyond the tokens that visit them
      if (const auto* e = std::get_if<workload::Experts>(&block.feed_forward)) {
        const workload::Visits visits = workload::visits_of(*e, 2048);
        const double columns = static_cast<double>(visits.experts * visits.tokens - 2048 * e->top_k);
        rounded = 2 * columns * static_cast<double>(stack.width * e->expert.inner * (e->expert.gated ? 3 : 2));
      }
      EXPECT_DOUBLE_EQ(products, expected.products + attention + rounded);
      double matrices = 0;
      for (const workload::Projection& p : workload::projections(block, stack.width))
        matrices += 2.0 * static_cast<double>(p.in) * static_cast<double>(p.out) * static_cast<double>(p.copies);
      EXPECT_EQ(weights, matrices);
      if (stack.causal) {
        EXPECT_FALSE(of_model("decode", entry.name, {{"context", 2048}, {"layer", layer - stack.layers.begin() + 1}})
                         .graph.kernels.empty());
      }
    }
  }
  EXPECT_GT(models, 40);
}

TEST(GenerateGraph, SizesReplaceThoseOfPlainModelsOnly) {
  EXPECT_EQ(of_model("llm-fwd", "llama3-8b", {{"seq", 64}, {"hidden", 2048}, {"ffn", 4096}}).parameter("head_dim"), 64);
  EXPECT_EQ(base::codes_of([] { of_model("llm", "mixtral-8x7b", {{"seq", 64}, {"hidden", 2048}}); }), (Codes{"O1487"}));
}

TEST(GenerateGraph, RefusesLayersThatAreNotThereAndWhatTheyDoNotHave) {
  EXPECT_EQ(base::codes_of([] { of_model("llm", "deepseek-v3", {{"layer", 62}}); }), (Codes{"O1489"}));
  EXPECT_EQ(base::codes_of([] { of_model("llm", "deepseek-v3", {{"num_layer_in_graph", 62}}); }), (Codes{"O1489"}));
  EXPECT_EQ(base::codes_of([] { of_model("llm", "deepseek-v3", {{"layer", 0}}); }), (Codes{"O1482"}));
  EXPECT_EQ(base::codes_of([] { of_model("llm", "llama3-8b", {{"source", 7}}); }), (Codes{"O1487"}));
  EXPECT_EQ(base::codes_of([] { of_model("attention", "mixtral-8x7b"); }), (Codes{"O1488"}));
  EXPECT_EQ(base::codes_of([] { of_model("decode", "bert-base"); }), (Codes{"O0923"}));
}

}  // namespace
}  // namespace orrery::verbs
