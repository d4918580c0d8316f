#include "orrery/inputs/systems/cluster_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include <source_dir.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/describe/workload/transformer_facts.h"
#include "orrery/engines/cluster/model/flops.h"
#include "orrery/inputs/catalogue/catalogue.h"

namespace orrery::verbs {
namespace {

using workload::PlainTransformer;
using workload::Transformer;

std::vector<std::string> catalogue_models() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(ORRERY_SOURCE_DIR "/catalog/models"))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

Transformer named(const std::string& name) {
  return load_model(catalogue_directory(), name).transformer;
}

base::Codes refused(const Transformer& model, const base::Overrides& overrides) {
  try {
    training_model(model, overrides);
  } catch (const base::InputError& error) {
    return base::codes(error.diagnostics);
  }
  return {};
}

TEST(TrainingModel, EveryModelOfTheCatalogueHasItsParametersAndItsFlop) {
  for (const std::string& name : catalogue_models()) {
    SCOPED_TRACE(name);
    const Transformer transformer = named(name);
    // What a run's model cannot express is refused by name.
    const base::Codes refused = base::codes_of([&] { training_model(transformer); });
    if (!refused.empty() && refused.front() == "O0915") continue;
    const cluster::Model model = training_model(transformer).prepared;
    const workload::Parameters counted = workload::parameters(transformer);
    EXPECT_EQ(cluster::parameters(model), static_cast<double>(counted.total));
    EXPECT_EQ(cluster::parameters(model, true), static_cast<double>(counted.active));
    const workload::ForwardFlop flop = workload::forward_flop(transformer, model.seq);
    const double ratio = cluster::model_flops_per_sequence(model) / (3 * (flop.products + flop.attention));
    if (transformer.predicted_ahead == 0) {
      EXPECT_NEAR(ratio, 1, 1e-12);
    } else {  // each such layer has logits of its own
      EXPECT_GT(ratio, 1);
      EXPECT_LT(ratio, 1.2);
    }
  }
}

TEST(TrainingModel, SizesThatAreReadAndGivenBackChangeNothing) {
  for (const std::string& name : catalogue_models()) {
    SCOPED_TRACE(name);
    const Transformer model = named(name);
    const PlainTransformer sizes = workload::sizes_of(model);
    const Transformer again = workload::with_sizes(model, sizes);
    EXPECT_EQ(workload::parameters(again).total, workload::parameters(model).total);
    EXPECT_EQ(workload::sizes_of(again), sizes);
    EXPECT_EQ(again.stacks[0].layers, model.stacks[0].layers);
    EXPECT_EQ(workload::forward_flop(again, 1024).visible_attention,
              workload::forward_flop(model, 1024).visible_attention);
  }
}

TEST(TrainingModel, MoreLayersRepeatTheOnesThereAre) {
  const Transformer gemma = named("gemma3-12b");  // five of six layers see a window
  const Transformer twice = training_model(gemma, {{"layers", "96"}}).transformer;
  ASSERT_EQ(gemma.stacks[0].layers.size(), 48u);
  EXPECT_EQ(workload::sizes_of(twice).windowed_layers, 2 * workload::sizes_of(gemma).windowed_layers);
  const auto near = [&](const base::Overrides& set) {
    return workload::sizes_of(training_model(gemma, set).transformer).windowed_layers;
  };
  EXPECT_EQ(near({{"layers", "60"}}), 50);
  EXPECT_EQ(near({{"layers", "60"}, {"windowed_layers", "40"}}), 40) << "said, though it is as many as before";
  const Transformer deepseek = training_model(named("deepseek-v3"), {{"layers", "70"}}).transformer;
  EXPECT_EQ(workload::sizes_of(deepseek).experts.dense_layers, 3);
  EXPECT_EQ(workload::sizes_of(deepseek).experts.every, 1);
}

TEST(TrainingModel, MixturesStandWhereTheFieldsSay) {
  const Transformer model =
      training_model(
          named("gpt2-small"),
          {{"experts.count", "8"}, {"experts.ffn", "512"}, {"experts.dense_layers", "2"}, {"experts.every", "2"}})
          .transformer;
  int mixtures = 0;
  for (const int kind : model.stacks[0].layers)
    mixtures +=
        std::holds_alternative<workload::Experts>(model.stacks[0].kinds[static_cast<std::size_t>(kind)].feed_forward);
  EXPECT_EQ(mixtures, 5);
  EXPECT_EQ(workload::sizes_of(training_model(named("mixtral-8x7b"), {{"experts.count", "0"}}).transformer).ffn, 14336);
}

TEST(TrainingModel, AFieldOfAPartThatIsNotThereIsRefused) {
  using base::Codes;
  const Transformer llama = named("llama3-8b"), deepseek = named("deepseek-v3");
  for (const char* field : {"experts.top_k", "experts.ffn", "experts.shared", "experts.dense_layers", "experts.every",
                            "experts.max_nodes", "latent.q_rank", "latent.rope_width", "latent.value_width"})
    EXPECT_EQ(refused(llama, {{field, "2"}}), (Codes{"O1363"})) << field;
  EXPECT_EQ(refused(llama, {{"chunked", "true"}}), (Codes{"O1363"}));
  EXPECT_EQ(refused(llama, {{"experts.count", "8"}, {"experts.top_k", "2"}, {"experts.ffn", "512"}}), Codes{});
  for (const char* field : {"kv_heads", "head_width"})
    EXPECT_EQ(refused(deepseek, {{field, "32"}}), (Codes{"O1363"})) << field << " of latent attention";
  EXPECT_EQ(refused(deepseek, {{"latent.kv_rank", "0"}, {"head_width", "64"}, {"kv_heads", "16"}}), Codes{});
}

TEST(TrainingModel, NoPartOfAWidthIsLostBetweenItsHeads) {
  using base::Codes;
  EXPECT_EQ(refused(named("gpt2-small"), {{"hidden", "1000"}}), (Codes{"O1363"}));
  EXPECT_EQ(refused(named("gpt2-small"), {{"heads", "7"}}), (Codes{"O1363"}));
  EXPECT_EQ(refused(named("gpt2-small"), {{"hidden", "1000"}, {"head_width", "80"}}), Codes{});
  EXPECT_EQ(refused(named("gpt2-small"), {{"hidden", "1200"}}), Codes{});
}

TEST(TrainingModel, AFieldThatAModelCannotTakeIsRefusedWithTheReason) {
  using base::Codes;
  EXPECT_EQ(refused(named("mamba2-2.7b"), {{"heads", "8"}}), (Codes{"O1363"}));
  EXPECT_EQ(refused(named("mamba2-2.7b"), {{"hidden", "1024"}}), (Codes{"O1363"}));
  EXPECT_EQ(refused(named("mixtral-8x7b"), {{"ffn", "1024"}}), (Codes{"O1363"}));
  EXPECT_EQ(refused(named("llama3-8b"), {{"window", "1024"}}), (Codes{"O1363"})) << "in no layer";
  EXPECT_EQ(refused(named("llama3-8b"), {{"window", "1024"}, {"windowed_layers", "16"}}), Codes{});
  EXPECT_EQ(refused(named("gemma4-e2b"), {{"layers", "10"}}), (Codes{"O1363"})) << "35 parts side by side in a table";
  EXPECT_EQ(refused(named("step-3.7-flash"), {{"heads", "32"}}), (Codes{"O1363"})) << "and gates of its own";
  Transformer widths = workload::plain_transformer({.layers = 4, .hidden = 64, .heads = 4, .vocab = 100});
  widths.stacks[0].kinds.push_back(widths.stacks[0].kinds[0]);
  std::get<workload::FeedForward>(widths.stacks[0].kinds[1].feed_forward).inner = 128;
  widths.stacks[0].layers[2] = 1;
  EXPECT_EQ(refused(widths, {{"ffn", "512"}}), (Codes{"O1363"}));
  EXPECT_EQ(refused(widths, {{"heads", "8"}, {"layers", "8"}}), Codes{});
}

TEST(TrainingModel, AnImageHasTheTokensThatItHas) {
  Transformer image = workload::plain_transformer({.layers = 2, .hidden = 64, .heads = 4});
  image.stacks[0].fixed_tokens = image.natural_tokens = 197;
  EXPECT_EQ(training_model(image).prepared.seq, 197);
  EXPECT_EQ(refused(image, {{"seq", "512"}}), (base::Codes{"O1363"}));
}

TEST(TrainingModel, TheSequenceIsTheStatedOneOrAtMost4096) {
  EXPECT_EQ(training_model(named("deepseek-v3")).prepared.seq, 4096);
  EXPECT_EQ(training_model(named("gpt2-small")).prepared.seq, 1024);
  Transformer model = named("llama3.1-8b");
  model.training_sequence.reset();
  base::Diagnostics warnings;
  warn_of_default_sequence(model, warnings);
  EXPECT_EQ(base::codes(warnings.all()), (base::Codes{"O1382"}));
  EXPECT_EQ(training_model(model).prepared.seq, 4096);
  model.training_sequence = 8192;
  base::Diagnostics none;
  warn_of_default_sequence(model, none);
  EXPECT_TRUE(none.all().empty());
  EXPECT_EQ(training_model(model).prepared.seq, 8192);
}

}  // namespace
}  // namespace orrery::verbs
