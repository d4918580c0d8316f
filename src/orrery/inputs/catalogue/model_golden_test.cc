// Real models' config.json against what their classes have.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "orrery/base/text/files_test_util.h"
#include "orrery/describe/workload/transformer_facts.h"
#include "orrery/engines/cluster/model/model.h"
#include "orrery/formats/csv/csv.h"
#include "orrery/formats/yaml/node.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/systems/cluster_model.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;

const fs::path kGoldens = base::kShared / "goldens" / "models";

std::vector<std::map<std::string, std::string>> truth() {
  base::Diagnostics found;
  const auto table = formats::csv::parse(formats::yaml::read_file((kGoldens / "truth.csv").string()),
                                         formats::csv::Comments::kHash, found);
  std::vector<std::map<std::string, std::string>> rows;
  for (std::size_t i = 1; i < table.rows.size(); ++i)
    for (std::size_t c = 0; c < table.rows[i].cells.size() && c < table.rows[0].cells.size(); ++c) {
      if (c == 0) rows.emplace_back();
      rows.back()[table.rows[0].cells[c].text] = table.rows[i].cells[c].text;
    }
  return rows;
}

class ModelGoldens : public ::testing::Test {
 protected:
  void SetUp() override { ORRERY_NEEDS_SHARED(); }
};

// Blocks alone are asked for, as by `catalog show`.
workload::Transformer model_of(const std::map<std::string, std::string>& row) {
  const ModelUse use = {{}, formats::huggingface::Outside::kPassed};
  return load_model("", (kGoldens / row.at("file")).string(), use).transformer;
}

// Empty where the model cannot take so many tokens.
void expect_figure(double counted, const std::string& truth) {
  if (truth.empty()) return;
  const double expected = std::stod(truth);
  EXPECT_NEAR(counted, expected, 1e-9 * expected);
}

TEST_F(ModelGoldens, EveryModelHasItsParametersExactly) {
  for (const auto& row : truth()) {
    SCOPED_TRACE(row.at("name"));
    const workload::Transformer model = model_of(row);
    const workload::Parameters parameters = workload::parameters(model);
    EXPECT_EQ(std::to_string(parameters.total), row.at("parameters"));
    EXPECT_EQ(std::to_string(parameters.embedding), row.at("embedding_parameters"));
    EXPECT_EQ(std::to_string(parameters.active), row.at("active_parameters"));
    // An image's classes are no output matrix to the truth.
    const std::string head = row.at("type") == "vit" ? "769000" : row.at("output_head_parameters");
    EXPECT_EQ(std::to_string(parameters.head), head);
    std::size_t layers = 0;
    for (const workload::Stack& stack : model.stacks) layers += stack.layers.size();
    EXPECT_EQ(std::to_string(layers), row.at("layers"));
  }
  EXPECT_GE(truth().size(), 30u);
}

TEST_F(ModelGoldens, EveryModelHasItsCachesExactly) {
  for (const auto& row : truth()) {
    SCOPED_TRACE(row.at("name"));
    const workload::Transformer model = model_of(row);
    EXPECT_EQ(std::to_string(2 * workload::cache_elements(model)), row.at("kv_bytes_per_token_bf16"));
    EXPECT_EQ(std::to_string(2 * workload::cache_elements(model, true)), row.at("kv_bytes_per_token_growing_bf16"));
    EXPECT_EQ(std::to_string(workload::state_elements(model)), row.at("state_elements_per_sequence"));
  }
}

TEST_F(ModelGoldens, EveryModelDoesItsOperationsExactly) {
  for (const auto& row : truth()) {
    SCOPED_TRACE(row.at("name"));
    const workload::Transformer model = model_of(row);
    for (const base::Count seq : {512, 4096}) {
      const std::string tokens = "_" + std::to_string(seq);
      const workload::ForwardFlop flop = workload::forward_flop(model, seq);
      const auto each = static_cast<double>(flop.tokens);
      expect_figure((flop.products + flop.attention) / each, row.at("flops_per_token" + tokens));
      expect_figure(flop.attention / each, row.at("attention_flops_per_token" + tokens));
      expect_figure(flop.visible_attention / each, row.at("visible_attention_flops_per_token" + tokens));
    }
    if (model.natural_tokens == 0) continue;
    EXPECT_EQ(std::to_string(model.natural_tokens), row.at("natural_tokens"));
    const workload::ForwardFlop whole = workload::forward_flop(model, model.natural_tokens);
    expect_figure(whole.products + whole.attention, row.at("natural_flops_total"));
  }
}

// What a training run cannot express it refuses by name; of the others, not one parameter goes astray.
TEST_F(ModelGoldens, EveryModelThatTrainingAcceptsHasItsParametersExactly) {
  int accepted = 0;
  for (const auto& row : truth()) {
    SCOPED_TRACE(row.at("name"));
    try {
      const ModelFile file = load_model("", (kGoldens / row.at("file")).string());
      if (!file.diagnostics.all().empty()) continue;
      const cluster::Model model = training_model(file.transformer).prepared;
      EXPECT_EQ(cluster::parameters(model), std::stod(row.at("parameters")));
      EXPECT_EQ(cluster::parameters(model, true), std::stod(row.at("active_parameters")));
      ++accepted;
    } catch (const base::InputError& error) {
      for (const base::Diagnostic& diagnostic : error.diagnostics)
        EXPECT_TRUE(diagnostic.code == "O0915" || diagnostic.code == "O0917") << diagnostic.message;
    }
  }
  EXPECT_GE(accepted, 28);
}

TEST_F(ModelGoldens, AShorterTrainingSequenceLeavesTheTableOfPositionsAsItIs) {
  const ModelFile file = load_model("", (kGoldens / "bert-large" / "config.json").string());
  const cluster::Model model = training_model(file.transformer, {{"seq", "128"}}).prepared;
  EXPECT_EQ(cluster::parameters(model), 335174458);
}

}  // namespace
}  // namespace orrery::verbs
