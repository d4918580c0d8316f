// Pruned attention in models on texts: trained, resumed, evaluated, compared with dense attention.
#include "orrery/inputs/networks/pruned_model.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "orrery/base/text/mapped_file.h"
#include "orrery/inputs/networks/stored_clips.h"
#include "orrery/inputs/networks/task_evaluation.h"
#include "orrery/inputs/networks/task_training.h"
#include "orrery/inputs/networks/tiny_model_test_util.h"
#include "orrery/verbs/sparse/run/run.h"

namespace orrery::verbs {
namespace {

bool warned(const base::Diagnostics& warnings, const std::string& code) {
  for (const base::Diagnostic& one : warnings.all())
    if (one.code == code) return true;
  return false;
}

std::string bytes_of(const std::string& path) {
  return std::string(base::MappedFile(path).bytes());
}

std::string sanger(double threshold) {
  return fmt::format(R"({{"model_type": "bert", "hidden_size": 32, "quant_qk": {{"method": "sym", "bitwidth": 4}},
"normalize_qk": "inner_product", "prune_score": {{"method": "probablity_threshold", "threshold": {}}}}})",
                     threshold);
}

// The same thresholds in every attention.
void set_clips(const TinyModel& tiny, float query, float key) {
  CheckpointModel model = open_checkpoint(tiny.folder, {network::HeadKind::kNone, {}}, kernels::Type::kF32, 0);
  PruningRequest request;
  request.predictor.emplace();
  PrunedModel pruned = open_pruning(request, model, Unclipped::kLearn);
  for (std::size_t i = 0; i < pruned.network->places().size(); ++i)
    pruned.network->core(i).clips = {{query, query > 0 ? 1 : 0}, {key, key > 0 ? 1 : 0}};
  store_clips(pruned, model);
  formats::checkpoint::write_safetensors(tiny.folder + "/other.safetensors", model.checkpoint.tensors, {});
  std::filesystem::rename(tiny.folder + "/other.safetensors", tiny.folder + "/model.safetensors");
}

TrainTextsRequest training(const TinyModel& tiny, const std::string& data, const std::string& output) {
  TrainTextsRequest request;
  request.texts = tiny.request(data);
  request.texts.limits.threads = 1;
  request.texts.task = Task::kClassification;
  request.texts.batch = 8;
  request.texts.pruning.config = tiny.file("sparse.json", sanger(0.1));
  request.output = (tiny.root / output).string();
  request.plan.optimiser.rate = 2e-3;
  request.epochs = 2;
  return request;
}

TEST(PrunedTraining, IsResumedToTheSameBytesAndItsThresholdsAreInTheCheckpoint) {
  const TinyModel tiny("pruned_resume");
  const std::string data = tiny.sentences("train.csv", 60, 3);
  TrainTextsRequest whole = training(tiny, data, "whole"), parts = training(tiny, data, "parts");
  const TrainedTexts trained = train_task(whole);
  EXPECT_EQ(trained.attention, "probabilities of 4-bit codes above 0.1");
  std::atomic<bool> stop = false;
  parts.texts.interruptible = [&] { return &stop; };
  parts.told = [&](const network::StepReport& step, std::int64_t, double) { stop = step.step >= 5; };
  EXPECT_EQ(train_task(parts).steps, 5);
  parts.texts.interruptible = {};
  parts.told = {};
  parts.resume = true;
  EXPECT_EQ(train_task(parts).resumed_at, 5);
  for (const char* const name : {"/model.safetensors", "/training_state.safetensors", "/config.json"})
    EXPECT_EQ(bytes_of(whole.output + name), bytes_of(parts.output + name)) << name;

  base::Diagnostics warnings;
  const auto stored = formats::checkpoint::read_checkpoint(whole.output, warnings);
  for (const char* const layer : {"0", "1"}) {
    // Where the checkpoint had one of them, the others stand beside it.
    const std::string at =
        fmt::format("bert.encoder.layer.{}.attention.self.{}", layer, layer[0] == '0' ? "" : "quant_matmul.");
    const auto* const steps = stored.find(at + "_step");
    ASSERT_NE(steps, nullptr);
    EXPECT_EQ(formats::checkpoint::as_floats(*steps), std::vector<float>{static_cast<float>(trained.steps)})
        << "a step of the maximum for each of training";
    const auto* const key = stored.find(at + "input_y_thresh");
    ASSERT_NE(key, nullptr);
    EXPECT_GT(formats::checkpoint::as_floats(*key)[0], 0.3F) << "of unit vectors of 8 numbers";
    EXPECT_LE(formats::checkpoint::as_floats(*key)[0], 1.0F);
  }
  // Of another rule it is another run.
  parts.texts.pruning.config = tiny.file("other.json", sanger(0.2));
  EXPECT_NE(refusal_of([&] { train_task(parts); }).find("O1655"), std::string::npos);
  // The folder prunes by itself.
  TextRequest held = tiny.request(data);
  held.checkpoint = whole.output;
  const Evaluated pruned = evaluate_task(held);
  ASSERT_TRUE(pruned.pruned);
  EXPECT_EQ(pruned.pruned->clips, ClipsFrom::kCheckpoint);
  const masks::Measured mean = masks::mean_of(pruned.pruned->masks);
  EXPECT_GT(mean.density, 0.01);
  EXPECT_LT(mean.density, 0.9);
  held.pruning.config = "none";
  const Evaluated dense = evaluate_task(held);
  EXPECT_FALSE(dense.pruned);
  EXPECT_NE(dense.loss, pruned.loss);
}

// A tensor more in the model's file.
void add_tensor(const TinyModel& tiny, const std::string& name, const std::vector<std::int64_t>& shape,
                const std::vector<float>& values) {
  base::Diagnostics warnings;
  auto stored = formats::checkpoint::read_checkpoint(tiny.folder, warnings);
  const auto bytes =
      std::make_shared<std::string>(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  stored.tensors.push_back({name, formats::checkpoint::Element::kF32, shape, *bytes, bytes});
  formats::checkpoint::write_safetensors(tiny.folder + "/other.safetensors", stored.tensors, {});
  std::filesystem::rename(tiny.folder + "/other.safetensors", tiny.folder + "/model.safetensors");
}

TEST(PrunedModel, AStaticMasksBitsAreThoseThatTheCheckpointHolds) {
  for (const bool added : {false, true}) {
    const TinyModel tiny(added ? "stored_added" : "stored_bits");
    TinyModel::write(tiny.folder + "/mask.json", R"({"class": "BigBirdSparsityConfig", "block": 4})");
    std::string config = base::read_file(tiny.folder + "/config.json")->text;
    TinyModel::write(tiny.folder + "/config.json", "{\"static_sparsity\": \"mask.json\", " + config.substr(1));
    std::vector<float> values(64 * 64);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = i % 7 == 0 ? (added ? 0.0F : 1.0F) : (added ? -10000.0F : 0.0F);
    for (const char* const layer : {"0", "1"})
      add_tensor(tiny, fmt::format("bert.encoder.layer.{}.attention.self.static_sparsity_mask", layer), {1, 64, 64},
                 values);
    CheckpointModel model = open_checkpoint(tiny.folder, {network::HeadKind::kNone, {}}, kernels::Type::kF32, 0);
    PrunedModel pruned = open_pruning({}, model, Unclipped::kRefuse);
    EXPECT_FALSE(warned(model.warnings, "O1883"));
    const masks::Mask& mask = *pruned.network->pruning().pattern;
    for (base::Count i = 0; i < 64 * 64; ++i) ASSERT_EQ(mask.kept(0, 0, i / 64, i % 64), i % 7 == 0);
    // Another one is asked for.
    PruningRequest other;
    other.pattern = tiny.folder + "/mask.json";
    open_pruning(other, model, Unclipped::kLearn);
    EXPECT_TRUE(warned(model.warnings, "O1883"));
    EXPECT_EQ(model.checkpoint.find("bert.encoder.layer.0.attention.self.static_sparsity_mask"), nullptr)
        << "it is not stored beside what was trained with another";
  }
}

TEST(PrunedModel, StoredMasksThatAreNoneAreRefused) {
  const auto told = [](const std::string& name, std::int64_t rows, float first, float second) {
    const TinyModel tiny("stored_" + name);
    TinyModel::write(tiny.folder + "/mask.json", R"({"class": "BigBirdSparsityConfig", "block": 4})");
    std::string config = base::read_file(tiny.folder + "/config.json")->text;
    TinyModel::write(tiny.folder + "/config.json", "{\"static_sparsity\": \"mask.json\", " + config.substr(1));
    std::vector<float> values(static_cast<std::size_t>(rows * 64), first);
    add_tensor(tiny, "bert.encoder.layer.0.attention.self.static_sparsity_mask", {rows, 64}, values);
    if (second != first) values[5] = second;
    add_tensor(tiny, "bert.encoder.layer.1.attention.self.static_sparsity_mask", {rows, 64}, values);
    CheckpointModel model = open_checkpoint(tiny.folder, {network::HeadKind::kNone, {}}, kernels::Type::kF32, 0);
    return refusal_of([&] { open_pruning({}, model, Unclipped::kRefuse); });
  };
  EXPECT_NE(told("zeros", 64, 0, 0).find("nothing but zeros"), std::string::npos);
  EXPECT_NE(told("nan", 64, NAN, NAN).find("neither 0 and 1"), std::string::npos);
  EXPECT_NE(told("small", 32, 1, 1).find("no mask of 1 or 4 heads and 64 x 64 tokens"), std::string::npos);
  EXPECT_NE(told("apart", 64, 1, 0).find("are different masks"), std::string::npos);
}

TEST(PrunedTraining, AToyTaskIsLearnedWithAPredictedAndWithAStaticMask) {
  const TinyModel tiny("pruned_toy");
  const std::string data = tiny.sentences("train.csv", 500, 1), held = tiny.sentences("held.csv", 200, 2);
  for (const bool predicted : {true, false}) {
    TrainTextsRequest request = training(tiny, data, predicted ? "predicted" : "static");
    request.texts.pruning.config = tiny.file("light.json", sanger(0.08));
    if (!predicted) {
      request.texts.pruning.config = "none";
      request.texts.pruning.pattern = tiny.file(
          "mask.json", R"({"class": "BSLongformerSparsityConfig", "block": 4, "num_sliding_window_blocks": 1})");
    }
    request.epochs = 3;
    train_task(request);
    TextRequest asked = tiny.request(held);
    asked.checkpoint = request.output;
    asked.limits.threads = 1;
    const Evaluated answer = evaluate_task(asked);
    EXPECT_GE(answer.metrics.at(0).value, 0.75) << predicted;
    ASSERT_TRUE(answer.pruned);
    EXPECT_LT(masks::mean_of(answer.pruned->masks).density, 0.95) << predicted;
  }
}

TEST(PrunedModel, ThresholdsThatAreNotSetAreRefusedOrCalibrated) {
  const TinyModel tiny("pruned_clips", "BertForMaskedLM");
  const std::string data = tiny.file("texts.txt", "word1 word2 word3\nword9 word8\n");
  TextRequest request = tiny.request(data);
  request.pruning.config = tiny.file("sparse.json", sanger(0.1));
  EXPECT_NE(refusal_of([&] { evaluate_task(request); }).find("O1872"), std::string::npos)
      << "one of two attentions has one";
  request.pruning.calibrate = true;
  const Evaluated calibrated = evaluate_task(request);
  ASSERT_TRUE(calibrated.pruned);
  EXPECT_EQ(calibrated.pruned->clips, ClipsFrom::kTexts);
  request.pruning.calibrate = false;
  set_clips(tiny, 0.7F, 0.8F);
  EXPECT_EQ(evaluate_task(request).pruned->clips, ClipsFrom::kCheckpoint);
  set_clips(tiny, 0.0F, 0.8F);
  const std::string told = refusal_of([&] { evaluate_task(request); });
  EXPECT_NE(told.find("O1872 2 clip thresholds"), std::string::npos) << told;
}

TEST(PrunedModel, KeysOfAConfigurationAreTakenRefusedOrNamed) {
  const TinyModel tiny("pruned_keys");
  CheckpointModel model = open_checkpoint(tiny.folder, {network::HeadKind::kNone, {}}, kernels::Type::kF32, 0);
  PruningRequest request;
  request.calibrate = true;
  const auto open = [&](const std::string& text) {
    model.warnings = {};
    request.config = tiny.file("sparse.json", text);
    return open_pruning(request, model, Unclipped::kCalibrate);
  };
  const PrunedModel whole = open(sanger(0.02));
  EXPECT_EQ(whole.network->pruning().predictor->threshold, 0.02);
  EXPECT_EQ(whole.network->pruning().predictor->quantiser.normalise, masks::Normalise::kInnerProduct);
  EXPECT_FALSE(warned(model.warnings, "O1871"));
  const PrunedModel exact =
      open(R"({"prune_score": {"method": "probablity_threshold", "threshold": 0.1}, "hidden_size": 64})");
  EXPECT_TRUE(exact.network->pruning().exact);
  EXPECT_TRUE(warned(model.warnings, "O1871")) << "another width";
  for (const char* const bad :
       {R"({"quant_qk": {"method": "asym", "bitwidth": 4}})", R"({"quant_qk": {"method": "sym", "bitwidth": 5}})",
        R"({"quant_qk": {"method": "sym"}})", R"({"normalize_qk": "layer_norm"})", R"({"quant_qk": 4})",
        R"({"prune_score": {"method": "top", "threshold": 0.1}})", R"({"static_sparsity": "nowhere.json"})",
        R"({"prune_score": {"method": "probablity_threshold", "threshold": 1}})", R"({"hidden_size": 32})", "[]"})
    EXPECT_NE(refusal_of([&] { open(bad); }).find("O1870"), std::string::npos) << bad;
}

TEST(SparseRun, LayersErrorsAndQualityFollowTheThreshold) {
  const TinyModel tiny("sparse_run", "BertForMaskedLM");
  std::string lines;
  for (int i = 0; i < 12; ++i) {
    for (int w = 0; w < 5 + 3 * i; ++w) lines += fmt::format("word{} ", (i * 17 + w * w) % 200);
    lines += "\n";
  }
  SparseRunRequest request;
  request.texts = tiny.request(tiny.file("texts.txt", lines));
  request.repeat = 1;
  request.texts.pruning.calibrate = true;
  double density = 2, cosine = 2, error = -1;
  for (const double threshold : {0.0001, 0.02, 0.06}) {
    request.texts.pruning.predictor.emplace().threshold = threshold;
    std::size_t masks = 0, tokens = 0;  // which are there: of keys, and of queries
    request.keep_mask = [&](const std::string& name, const std::string& bytes) {
      ++(name.rfind("valid", 0) == 0 ? tokens : masks);
      EXPECT_GT(bytes.size(), 128U);
    };
    const SparseRun run = sparse_run(request);
    ASSERT_EQ(run.layers.size(), 2U);
    EXPECT_EQ(run.texts, 12);
    EXPECT_EQ(run.batches, 2);
    EXPECT_EQ(masks, 4U) << "of two attentions and two batches";
    EXPECT_EQ(tokens, 8U);
    EXPECT_EQ(run.log.size(), 4U);
    EXPECT_EQ(run.clips, ClipsFrom::kTexts);
    EXPECT_LE(run.mean.density, density);
    EXPECT_LE(*run.quality.cosine, cosine + 1e-9);
    EXPECT_GE(run.error, error);
    density = run.mean.density, cosine = *run.quality.cosine, error = run.error;
    for (const SparseRunLayer& layer : run.layers) {
      double heads = 0, squares = 0;
      for (const SparseRunHead& head : layer.heads) heads += head.density / 4, squares = std::max(squares, head.error);
      EXPECT_NEAR(heads, layer.figures.density, 1e-12) << "heads have as many pairs";
      EXPECT_LE(layer.error, squares + 1e-12) << "the worst head bounds the layer";
      EXPECT_GT(layer.dense_ms, 0);
      EXPECT_GT(layer.sparse_ms, layer.predict_ms);
      ASSERT_EQ(layer.packing.size(), 3U);
      EXPECT_LE(layer.packing[0].second, layer.packing[2].second + 1e-12) << "nothing exceeds row chunks";
    }
    ASSERT_TRUE(run.quality.dense && run.quality.pruned);
    EXPECT_EQ(run.quality.task, "mlm");
    EXPECT_GT(run.quality.dense->perplexity, 1);
    // As Sanger's log has it, with padding that changes nothing but what is a defect.
    SparseRunRequest padded = request;
    padded.keep_mask = {};
    padded.defects.whole_vectors_only = true;
    const SparseRun same = sparse_run(padded);
    EXPECT_EQ(same.mean.density, run.mean.density);
    EXPECT_EQ(same.mean.load_balance, run.mean.load_balance);
    if (threshold < 0.001) {
      EXPECT_EQ(run.mean.density, 1);
      EXPECT_NEAR(*run.quality.cosine, 1, 1e-6);
      EXPECT_NEAR(run.quality.dense->loss, run.quality.pruned->loss, 1e-4) << "everything is kept";
    }
  }
  EXPECT_LT(density, 0.5);
  EXPECT_GT(error, 0.05);
}

}  // namespace
}  // namespace orrery::verbs
