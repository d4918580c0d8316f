#include "orrery/verbs/tune/texts/run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>

#include "orrery/base/text/mapped_file.h"
#include "orrery/formats/checkpoint/checkpoint.h"
#include "orrery/inputs/networks/tiny_model_test_util.h"

namespace orrery::verbs {
namespace {

std::string code_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const base::InputError& error) {
    return error.diagnostics.at(0).code;
  }
  return "";
}

TrainTextsRequest training(const TinyModel& tiny, const std::string& data, const std::string& output) {
  TrainTextsRequest request;
  request.texts = tiny.request(data);
  request.texts.task = Task::kClassification;
  request.output = (tiny.root / output).string();
  request.plan.optimiser.rate = 2e-3;
  request.warmup_share = 0.1;
  return request;
}

std::string bytes_of(const std::string& path) {
  return std::string(base::MappedFile(path).bytes());
}

TEST(TuneTrain, AToyTaskIsLearnedAndTheFolderAnswersIt) {
  const TinyModel tiny("toy");
  TrainTextsRequest request = training(tiny, tiny.sentences("train.csv", 2000, 1), "out");
  request.epochs = 3;
  const TrainedTexts trained = train_task(request);
  EXPECT_EQ(trained.steps, 189);
  EXPECT_FALSE(trained.fresh.empty());
  TextRequest held = tiny.request(tiny.sentences("held.csv", 400, 2));
  held.checkpoint = request.output;
  const Evaluated answer = evaluate_task(held);
  EXPECT_EQ(answer.task, "classification");
  ASSERT_EQ(answer.metrics.at(0).name, "accuracy");
  EXPECT_GE(answer.metrics[0].value, 0.95);
  const auto config = base::read_file(request.output + "/config.json");
  EXPECT_NE(config->text.find("BertForSequenceClassification"), std::string::npos);
  EXPECT_NE(config->text.find("\"1\": \"up\""), std::string::npos);
  base::Diagnostics warnings;
  const auto stored = formats::checkpoint::read_checkpoint(request.output, warnings);
  const auto* const kept = stored.find("bert.encoder.layer.0.attention.self.input_x_thresh");
  ASSERT_NE(kept, nullptr) << "what other programs keep must survive";
  EXPECT_EQ(formats::checkpoint::as_floats(*kept), std::vector<float>{0.25F});
}

TEST(TuneTrain, ARunThatIsInterruptedAndResumedWritesTheSameBytes) {
  const TinyModel tiny("resume");
  const std::string data = tiny.sentences("train.csv", 60, 3);
  TrainTextsRequest whole = training(tiny, data, "whole"), parts = training(tiny, data, "parts");
  whole.texts.batch = parts.texts.batch = 8;
  whole.epochs = parts.epochs = 2;
  train_task(whole);
  std::atomic<bool> stop = false;
  parts.texts.interruptible = [&] { return &stop; };
  parts.told = [&](const network::StepReport& step, std::int64_t, double) { stop = step.step >= 5; };
  const TrainedTexts first = train_task(parts);
  EXPECT_TRUE(first.ended_early);
  EXPECT_EQ(first.steps, 5);
  parts.texts.interruptible = {};
  parts.told = {};
  parts.resume = true;
  const TrainedTexts second = train_task(parts);
  EXPECT_EQ(second.resumed_at, 5);
  for (const char* const name : {"/model.safetensors", "/training_state.safetensors", "/config.json", "/vocab.txt"})
    EXPECT_EQ(bytes_of(whole.output + name), bytes_of(parts.output + name)) << name;
  TrainTextsRequest other = parts;
  other.plan.optimiser.rate = 1e-3;
  EXPECT_EQ(code_of([&] { train_task(other); }), "O1655");
  other = parts;
  other.texts.type = kernels::Type::kBf16;
  EXPECT_EQ(code_of([&] { train_task(other); }), "O1655") << "the bits would differ";
}

TEST(TuneTrain, MaskedWordsAndQuestionsAreLearned) {
  const TinyModel tiny("tasks", "BertForMaskedLM");
  std::string lines;
  for (int i = 0; i < 40; ++i) lines += fmt::format("word{} word{} word{} word{}\n", i, i + 1, i + 2, i + 3);
  TrainTextsRequest words = training(tiny, tiny.file("lines.txt", lines), "words");
  words.texts.task = Task::kMaskedWords;
  words.epochs = 40;
  const TrainedTexts trained = train_task(words);
  EXPECT_LT(trained.history.back().loss, 0.8 * trained.history.front().loss);

  std::string questions;
  for (int i = 0; i < 60; ++i)
    questions += fmt::format(
        R"({{"question": "word1 word{}", "context": "word{} word7 word{} word9", "answers": {{"text": ["word{}"], "answer_start": [{}]}}}})"
        "\n",
        i, 50 + i, i, i, fmt::format("word{} word7 ", 50 + i).size());
  TrainTextsRequest spans = training(tiny, tiny.file("questions.jsonl", questions), "spans");
  spans.texts.task = Task::kQuestions;
  spans.epochs = 40;
  train_task(spans);
  TextRequest asked = tiny.request(spans.texts.data);
  asked.checkpoint = spans.output;
  const Evaluated answer = evaluate_task(asked);
  ASSERT_EQ(answer.metrics.at(0).name, "exact_match");
  EXPECT_GE(answer.metrics[0].value, 0.9) << "the answer is always the third word";
}

TEST(TuneEmbed, ATextsVectorDoesNotDependOnItsNeighbours) {
  const TinyModel tiny("embed");
  const std::string data = tiny.file("texts.txt", "word1 word2\nword3\nword4 word5 word6 word7 word8\n");
  TextRequest together = tiny.request(data), alone = together;
  alone.batch = 1;
  const Embedded a = embed_texts(together, Pool::kMean), b = embed_texts(alone, Pool::kMean);
  ASSERT_EQ(a.texts.size(), 3U);
  EXPECT_EQ(a.texts[0].tokens, 4U) << "[CLS] and [SEP] count";
  EXPECT_EQ(a.texts[2].tokens, 7U);
  for (std::size_t t = 0; t < 3; ++t)
    for (std::size_t i = 0; i < a.width; ++i) EXPECT_NEAR(a.texts[t].embedding[i], b.texts[t].embedding[i], 1e-5);
  const Embedded first = embed_texts(together, Pool::kFirst);
  double norm = 0;
  for (const float x : first.texts[0].embedding) norm += double{x} * x;
  EXPECT_NEAR(norm, 32, 0.1) << "a normed vector of 32 numbers, scales 1";
}

TEST(TuneTexts, WhatIsWrongWithModelOrDataIsSaid) {
  const TinyModel tiny("errors");
  const std::string good = tiny.sentences("good.csv", 4, 1);
  const auto eval = [&](TextRequest request) { return code_of([&] { evaluate_task(request); }); };
  const auto train = [&](const std::string& data, Task task) {
    TrainTextsRequest request = training(tiny, data, "out");
    request.texts.task = task;
    request.steps = 1;
    return code_of([&] { train_task(request); });
  };
  EXPECT_EQ(eval(tiny.request(good)), "O1654") << "no head, no task";
  TextRequest asked = tiny.request(good);
  asked.task = Task::kClassification;
  EXPECT_EQ(eval(asked), "O1654") << "the head's weights are missing";
  EXPECT_EQ(train(tiny.file("a.csv", "text,label\nx,1,2\n"), Task::kClassification), "O1650");
  EXPECT_EQ(train(tiny.file("b.jsonl", "{\"text\": \"x\"}\n[1]\n"), Task::kMaskedWords), "O1650");
  EXPECT_EQ(train(tiny.file("c.csv", "review,label\nx,1\n"), Task::kClassification), "O1651");
  EXPECT_EQ(train(tiny.file("d.csv", "text,label\nx,1\ny,1\n"), Task::kRegression), "");
  EXPECT_EQ(train(tiny.file("e.csv", "text,label\nx,nan\n"), Task::kRegression), "O1652");
  EXPECT_EQ(train(tiny.file("f.csv", "text,label\nx,a\ny,a\n"), Task::kClassification), "O1652");
  EXPECT_EQ(
      train(tiny.file(
                "g.jsonl",
                R"({"question": "x", "context": "word1 word2", "answers": {"text": ["word2"], "answer_start": [1]}})"),
            Task::kQuestions),
      "O1653");
  EXPECT_EQ(train(good, Task::kNextWord), "O1644");

  TrainTextsRequest wild = training(tiny, good, "wild");
  wild.plan.optimiser.rate = 1e30, wild.plan.clip = 0, wild.warmup_share = 0, wild.steps = 20;
  EXPECT_EQ(code_of([&] { train_task(wild); }), "O1658");

  const auto with_config = [&](const std::string& from, const std::string& to) {
    std::string text = base::read_file(tiny.folder + "/config.json")->text;
    const std::string before = text;
    text.replace(text.find(from), from.size(), to);
    TinyModel::write(tiny.folder + "/config.json", text);
    const std::string code = code_of([&] { embed_texts(tiny.request(good), Pool::kMean); });
    TinyModel::write(tiny.folder + "/config.json", before);
    return code;
  };
  EXPECT_EQ(with_config("\"bert\"", "\"mamba2\""), "O1643");
  EXPECT_EQ(with_config("\"hidden_size\": 32", "\"hidden_size\": \"wide\""), "O1644");
  EXPECT_EQ(with_config("\"hidden_size\": 32", "\"hidden_size\": 32, \"position_embedding_type\": \"relative_key\""),
            "O1644");
  EXPECT_EQ(with_config("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3"), "O1645");
  EXPECT_EQ(with_config("\"intermediate_size\": 64", "\"intermediate_size\": 60"), "O1646");
  EXPECT_EQ(with_config("\"vocab_size\": 210", "\"vocab_size\": 100"), "O1646");
  EXPECT_EQ(with_config("\"num_attention_heads\": 4", "\"num_attention_heads\": 5"), "O1644");
  // Sizes that nothing bears out: refused before memory is asked for.
  for (const char* const size : {"vocab_size\": 210", "hidden_size\": 32", "num_hidden_layers\": 2",
                                 "intermediate_size\": 64", "max_position_embeddings\": 64", "type_vocab_size\": 2"}) {
    const std::string from = size;
    EXPECT_NE(with_config(from, from.substr(0, from.find(' ')) + " 2147483648"), "") << from;
    if (from.rfind("hidden", 0) == 0) continue;  // whose heads would be too large
    EXPECT_EQ(with_config(from, from.substr(0, from.find(' ')) + " 16000000"), "O1660") << from;
  }
  std::string larger = base::read_file(tiny.folder + "/vocab.txt")->text;
  for (int i = 0; i < 20; ++i) larger += fmt::format("more{}\n", i);
  TinyModel::write(tiny.folder + "/vocab.txt", larger);
  EXPECT_EQ(code_of([&] { embed_texts(tiny.request(good), Pool::kMean); }), "O1648");
}

TEST(TuneTexts, DataAreReadAsTheyComeAndSaidToBeWrongWhereTheyAre) {
  const TinyModel tiny("data");
  const auto tokens = [&](const std::string& name, const std::string& text) {
    std::string out;
    for (const EmbeddedText& one : embed_texts(tiny.request(tiny.file(name, text)), Pool::kMean).texts)
      out += fmt::format("{} ", one.tokens);
    return out;
  };
  const auto said = [&](const std::string& name, const std::string& text) {
    try {
      tokens(name, text);
    } catch (const base::InputError& error) {
      const base::Diagnostic& first = error.diagnostics.at(0);
      return fmt::format("{} {}:{}", first.code, first.primary.where.line, first.primary.where.column);
    }
    return std::string();
  };
  EXPECT_EQ(tokens("mark.txt", "\xEF\xBB\xBFword1 word2\r\nword3\n"), "4 3 ") << "a byte order mark is no character";
  EXPECT_EQ(tokens("feed.txt", "word1\fword2 \x01word3\n"), "4 ") << "control characters are dropped, not refused";
  EXPECT_EQ(tokens("columns.csv", "id,sentence\n1,word1 word2\n"), "4 ") << "the column that is known as the text";
  EXPECT_EQ(said("none.csv", "id,review\n1,word1 word2\n"), "O1651 2:1");
  EXPECT_EQ(said("twice.csv", "text,text\nword1,word2\n"), "O1650 1:6");
  EXPECT_EQ(said("latin.txt", "word1\ncaf\xe9\n"), "O0104 0:0");
  TextRequest narrow = tiny.request(tiny.file("place.txt", "word1\nword2 word3\n"));
  narrow.most_tokens = 2;
  try {
    embed_texts(narrow, Pool::kMean);
    ADD_FAILURE() << "no room beside the special tokens";
  } catch (const base::InputError& error) {
    EXPECT_EQ(error.diagnostics.at(0).code, "O1626");
    EXPECT_EQ(error.diagnostics[0].primary.where.line, 1);
  }
}

TEST(TuneTexts, WithoutATokenForMasksNoWordIsMasked) {
  const TinyModel tiny("masks", "BertForMaskedLM");
  std::string words = base::read_file(tiny.folder + "/vocab.txt")->text;
  words.replace(words.find("[MASK]"), 6, "[HIDE]");
  TinyModel::write(tiny.folder + "/vocab.txt", words);
  const TextRequest request = tiny.request(tiny.file("texts.txt", "word1 word2 word3\n"));
  EXPECT_EQ(code_of([&] { evaluate_task(request); }), "O1661");
  TinyModel::write(tiny.folder + "/tokenizer_config.json", R"({"mask_token": "[HIDE]"})");
  EXPECT_EQ(code_of([&] { evaluate_task(request); }), "");
}

TEST(TuneTexts, HeadsThatAreNewAndTextsThatAreCutAreWarnedOf) {
  const TinyModel tiny("warnings");
  TrainTextsRequest request = training(tiny, tiny.sentences("train.csv", 6, 1), "out");
  request.steps = 1;
  request.texts.most_tokens = 5;
  const TrainedTexts trained = train_task(request);
  std::string codes;
  for (const base::Diagnostic& said : trained.warnings.all()) codes += said.code + " ";
  EXPECT_NE(codes.find("O1657"), std::string::npos) << codes;
  EXPECT_NE(codes.find("O1656"), std::string::npos) << codes;
  EXPECT_NE(codes.find("O1647"), std::string::npos) << codes;
}

TEST(TuneEval, EachRowHasAPredictionThatTheMeasuresAreOf) {
  const TinyModel tiny("predictions", "BertForSequenceClassification", 2);
  TextRequest request =
      tiny.request(tiny.file("rows.csv", "text,label\nword1 word2,1\nword3,0\nword4 word5 word6,1\n"));
  const Evaluated answer = evaluate_task(request);
  ASSERT_EQ(answer.predictions.size(), 3U);
  const std::vector<std::string> truth{"LABEL_1", "LABEL_0", "LABEL_1"};
  double right = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const Prediction& said = answer.predictions[i];
    EXPECT_EQ(said.row, i);
    ASSERT_EQ(said.scores.size(), 2U);
    EXPECT_EQ(said.label, said.scores[0] >= said.scores[1] ? "LABEL_0" : "LABEL_1");
    right += said.label == truth[i];
  }
  EXPECT_DOUBLE_EQ(answer.metrics.at(0).value, right / 3);
}

TEST(TuneEval, TheTokenizersLengthCutsTexts) {
  const TinyModel tiny("length");
  TinyModel::write(tiny.folder + "/tokenizer_config.json", R"({"model_max_length": 4})");
  TextRequest request = tiny.request(tiny.file("texts.txt", "word1 word2 word3 word4\n"));
  EXPECT_EQ(embed_texts(request, Pool::kMean).texts.at(0).tokens, 4U);
  request.most_tokens = 6;
  EXPECT_EQ(embed_texts(request, Pool::kMean).texts.at(0).tokens, 6U);
}

TEST(TuneTrain, WeightsOfAnotherStepThanTheStateAreRefused) {
  const TinyModel tiny("torn");
  TrainTextsRequest request = training(tiny, tiny.sentences("train.csv", 20, 3), "out");
  request.steps = 2;
  train_task(request);
  const std::string weights = bytes_of(request.output + "/model.safetensors");
  request.output = (tiny.root / "other").string();
  request.steps = 3;
  train_task(request);
  TinyModel::write(request.output + "/model.safetensors", weights);
  request.resume = true;
  EXPECT_EQ(code_of([&] { train_task(request); }), "O1655");
}

// A real model, where ORRERY_CHECKPOINT names its folder.
TEST(RealCheckpoint, SentencesOfOneMeaningAreNearerThanOthers) {
  const char* const folder = std::getenv("ORRERY_CHECKPOINT");
  if (folder == nullptr) GTEST_SKIP() << "ORRERY_CHECKPOINT is not set";
  const TinyModel tiny("real");
  TextRequest request = tiny.request(tiny.file(
      "texts.txt", "A cat is sitting on the mat.\nThe cat sat on a mat.\nShares of the bank fell by nine per cent.\n"));
  request.checkpoint = folder;
  const Embedded answer = embed_texts(request, Pool::kMean);
  const auto cosine = [&](std::size_t a, std::size_t b) {
    double dot = 0, left = 0, right = 0;
    for (std::size_t i = 0; i < answer.width; ++i) {
      const double x = answer.texts[a].embedding[i], y = answer.texts[b].embedding[i];
      dot += x * y, left += x * x, right += y * y;
    }
    return dot / std::sqrt(left * right);
  };
  EXPECT_GT(cosine(0, 1), cosine(0, 2));
  EXPECT_GT(cosine(0, 1), cosine(1, 2));
}

}  // namespace
}  // namespace orrery::verbs
