// Tiny data sets in the form of each task's files.
#include "orrery/verbs/sparse/study/run.h"

#include <gtest/gtest.h>

#include <random>

#include "orrery/base/text/mapped_file.h"
#include "orrery/inputs/networks/tiny_model_test_util.h"

namespace orrery::verbs {
namespace {

std::string words(std::mt19937& random, unsigned first, unsigned count) {
  std::string out;
  for (unsigned i = 0; i < count; ++i) out += fmt::format("{}word{}", i > 0 ? " " : "", first + random() % 100);
  return out;
}

// A row of so many cells, two of which are texts (or one) and one the label.
struct Table {
  std::string name, train, held, header;  // no header: empty
  std::string row;                        // {0}, {1}: texts; {2}: a number from 0 or 1; {3}: a name of a class
};

const std::vector<Table> kTables = {
    {"cola", "train.tsv", "dev.tsv", "", "gj04\t{2}\t\t{0}"},
    {"mnli", "train.tsv", "dev_matched.tsv",
     "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\tsentence2_"
     "parse\t"
     "sentence1\tsentence2\tlabel1\tgold_label",
     "1\t2\t3\tfiction\ta\tb\tc\td\t{0}\t{1}\tx\t{3}"},
    {"mrpc", "msr_paraphrase_train.txt", "msr_paraphrase_test.txt",
     "\xEF\xBB\xBFQuality\t#1 ID\t#2 ID\t#1 String\t#2 String", "{2}\t10\t11\t{0} \"quoted\t{1}"},
    {"qnli", "train.tsv", "dev.tsv", "index\tquestion\tsentence\tlabel", "7\t{0}\t{1}\t{3}"},
    {"qqp", "train.tsv", "dev.tsv", "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate", "1\t2\t3\t{0}\t{1}\t{2}"},
    {"rte", "train.tsv", "dev.tsv", "index\tsentence1\tsentence2\tlabel", "0\t{0}\t{1}\t{3}"},
    {"sst2", "train.tsv", "dev.tsv", "sentence\tlabel", "{0}\t{2}"},
    {"stsb", "train.tsv", "dev.tsv",
     "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore",
     "0\tnews\tf\t2012\t1\ta\tb\t{0}\t{1}\t{2}.5"},
    {"wnli", "train.tsv", "dev.tsv", "index\tsentence1\tsentence2\tlabel", "0\t{0}\t{1}\t{2}"}};

struct Data {
  const TinyModel& tiny;
  std::string folder;

  Data(const TinyModel& model, const std::string& name) : tiny(model), folder((model.root / name).string()) {
    std::filesystem::create_directories(folder);
  }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((std::filesystem::path(folder) / name).parent_path());
    TinyModel::write(folder + "/" + name, text);
  }
  // Rows whose first text tells the class.
  void table(const Table& of, const std::string& name, int rows, unsigned seed) const {
    std::mt19937 random(seed);
    std::string text = of.header.empty() ? "" : of.header + "\n";
    for (int i = 0; i < rows; ++i) {
      const unsigned label = random() % 2;
      text += fmt::format(fmt::runtime(of.row), words(random, 100 * label, 6), words(random, 0, 3), label,
                          label == 1          ? "entailment"
                          : of.name == "mnli" ? "neutral"
                                              : "not_entailment") +
              "\n";
    }
    write(name, text);
  }
};

SparseStudyRequest study(const TinyModel& tiny, const std::string& task, const std::string& data) {
  SparseStudyRequest request;
  request.task = task, request.data = data;
  request.texts = tiny.request("");
  request.texts.limits.threads = 1;
  request.texts.data.clear();
  request.texts.most_tokens = 40;
  request.texts.seed = 42;
  request.steps = 2;
  request.rate = 2e-3;
  request.threshold = 0.08;
  request.pattern =
      tiny.file("mask.json", R"({"class": "BSLongformerSparsityConfig", "block": 4, "num_sliding_window_blocks": 1})");
  request.output = (tiny.root / ("study_" + task)).string();
  return request;
}

std::vector<std::string> names_of(const StudyVariant& variant) {
  std::vector<std::string> out;
  for (const TaskMetric& metric : variant.metrics) out.push_back(metric.name);
  return out;
}

TEST(SparseStudy, EveryTaskOfGlueIsReadAsItIsPublished) {
  const TinyModel tiny("study_glue");
  for (const Table& table : kTables) {
    SCOPED_TRACE(table.name);
    const Data data(tiny, table.name);
    data.table(table, table.train, 24, 1);
    data.table(table, table.held, 16, 2);
    if (table.name == "mnli") data.table(table, "dev_mismatched.tsv", 16, 3);
    SparseStudyRequest request = study(tiny, table.name, data.folder);
    request.variants = {"dense", "dynamic"};
    const SparseStudy answer = sparse_study(request);
    ASSERT_EQ(answer.variants.size(), 2U);
    EXPECT_EQ(answer.texts, 24);
    EXPECT_EQ(answer.held, table.name == "mnli" ? 32 : 16);
    for (const StudyVariant& variant : answer.variants) {
      EXPECT_EQ(variant.steps, 2);
      std::vector<std::string> wanted = study_task(table.name).metrics;
      if (wanted.size() > 1) wanted.emplace_back("combined");
      if (table.name == "mnli") wanted.emplace_back("accuracy_mm");
      EXPECT_EQ(names_of(variant), wanted);
      EXPECT_EQ(variant.density.has_value(), variant.name == "dynamic");
    }
    EXPECT_GT(*answer.variants[1].density, 0);
    EXPECT_LE(*answer.variants[1].density, 1);
  }
}

TEST(SparseStudy, ExportsAreReadAndATaskIsLearnedByAllThree) {
  const TinyModel tiny("study_exports");
  const Data data(tiny, "rte");
  std::mt19937 random(5);
  std::string csv = "sentence1,sentence2,label,idx\n", lines;
  for (int i = 0; i < 320; ++i) {
    const unsigned label = random() % 2;
    const std::string first = words(random, 100 * label, 5), second = words(random, 100 * label, 4);
    if (i < 240)
      csv += fmt::format("\"{}\",{},{},{}\n", first, second, label, i);
    else
      lines += fmt::format("{{\"sentence1\": \"{}\", \"sentence2\": \"{}\", \"label\": {}, \"idx\": {}}}\n", first,
                           second, label, i);
  }
  data.write("train.csv", csv);
  data.write("validation.jsonl", lines);
  SparseStudyRequest request = study(tiny, "rte", data.folder);
  request.steps.reset();
  request.texts.batch = 16;
  request.epochs = 4;
  const SparseStudy answer = sparse_study(request);
  ASSERT_EQ(answer.variants.size(), 3U);
  for (const StudyVariant& variant : answer.variants) {
    EXPECT_GE(variant.metrics.at(0).value, 0.8) << variant.name;
    if (variant.name != "dense") {
      EXPECT_LT(variant.density.value_or(1), 1) << variant.name;
      EXPECT_GT(variant.load_balance.value_or(0), 0);
    }
  }
  EXPECT_EQ(answer.variants[2].rule, "the static mask mask.json");
}

TEST(SparseStudy, SquadOfBothVersionsIsRead) {
  const TinyModel tiny("study_squad");
  for (const bool second : {false, true}) {
    const Data data(tiny, second ? "two" : "one");
    const auto document = [&](int articles) {
      std::string text = "{\"version\": \"x\", \"data\": [";
      for (int a = 0; a < articles; ++a) {
        const std::string context = fmt::format("word{} word7 word{} word9", 50 + a, a);
        text += fmt::format(
            R"({}{{"title": "t[", "paragraphs": [{{"context": "{}", "qas": [
 {{"id": "q{}", "question": "word1 word{}", "answers": [{{"text": "word{}", "answer_start": {}}}]}})",
            a > 0 ? ", " : "", context, a, a, a, context.find("word7 word") + 6);
        if (second) text += R"(, {"question": "word3", "answers": [], "is_impossible": true, "plausible_answers": []})";
        text += "]}]}";
      }
      return text + "]}";
    };
    data.write(second ? "train-v2.0.json" : "train-v1.1.json", document(20));
    data.write(second ? "dev-v2.0.json" : "dev-v1.1.json", document(6));
    SparseStudyRequest request = study(tiny, second ? "squad_v2" : "squad", data.folder);
    request.variants = {"dense"};
    const SparseStudy answer = sparse_study(request);
    EXPECT_EQ(answer.texts, second ? 40 : 20);
    EXPECT_EQ(names_of(answer.variants.at(0)), (std::vector<std::string>{"exact_match", "f1", "combined"}));
    EXPECT_LE(answer.variants[0].metrics[0].value, answer.variants[0].metrics[1].value);
  }
  // Flat examples, in lines.
  const Data data(tiny, "flat");
  const std::string flat =
      R"({"question": "word1", "context": "word2 word3", "answers": {"text": ["word3"], "answer_start": [6]}})";
  data.write("train.jsonl", flat + "\n" + flat + "\n");
  data.write("validation.json", "{\"data\": [" + flat + "]}");
  SparseStudyRequest request = study(tiny, "squad", data.folder);
  request.output += "_flat";
  request.variants = {"dense"};
  EXPECT_EQ(sparse_study(request).held, 1);
}

TEST(SparseStudy, PlacesInSquadsArticlesAreThoseOfTheFile) {
  const TinyModel tiny("study_places");
  const std::string path =
      tiny.file("bad.json", "{\"data\": [{\"paragraphs\": []},\n  {\"paragraphs\": [{\"context\": 3, \"qas\": []}]}]}");
  try {
    read_squad(path);
    FAIL() << "a context that is no text";
  } catch (const base::InputError& error) {
    const base::Diagnostic& said = error.diagnostics.at(0);
    EXPECT_EQ(said.message, "`context` must be a text, not the number 3");
    EXPECT_EQ(said.primary.where.line, 2);
    EXPECT_EQ(said.primary.where.column, 31);
  }
}

TEST(SparseStudy, SquadAsTheDatasetsLibraryExportsIt) {
  const TinyModel tiny("study_squad_export");
  const std::string flat =
      R"({"id": "1", "title": "t", "context": "word2 word3", "question": "word1", "answers": {"text": ["word3"], "answer_start": [6]}})";
  EXPECT_EQ(read_squad(tiny.file("lines.json", flat + "\n" + flat + "\n")).rows.size(), 2U)
      << "to_json() calls it .json";
  EXPECT_EQ(read_squad(tiny.file("list.json", "[" + flat + ", " + flat + "]")).rows.size(), 2U);
  const std::string csv =
      "id,title,context,question,answers\n"
      "1,t,word2 word3,word1,\"{'text': array(['word3'], dtype=object), 'answer_start': array([6])}\"\n";
  EXPECT_EQ(refusal_of([&] { read_squad(tiny.file("table.csv", csv)); }),
            "O1650 the answers are a Python object, written as text");
}

TEST(SparseStudy, ClozesAreReadAndLearnedAndTheirFaultsNamed) {
  const TinyModel tiny("study_cloth", "BertForMaskedLM");
  const Data data(tiny, "cloth");
  std::mt19937 random(9);
  const auto article = [&](bool last) {
    // The answer is always word5.
    std::string options, answers;
    for (int gap = 0; gap < 2; ++gap) {
      const unsigned right = random() % 4;
      options += gap > 0 ? ", [" : "[";
      for (unsigned k = 0; k < 4; ++k)
        options += fmt::format("{}\"word{}\"", k > 0 ? ", " : "", k == right ? 5 : 20 + random() % 100);
      options += "]";
      answers += fmt::format("{}\"{}\"", gap > 0 ? ", " : "", static_cast<char>('A' + right));
    }
    return fmt::format(
        R"({{"article": "Word{} _ word{} word{} _ .", "options": [{}], "answers": [{}], "source": "x"}})",
        random() % 100, random() % 100, last ? 1 : 2, options, answers);
  };
  for (int i = 0; i < 30; ++i) data.write(fmt::format("train/high/{}.json", i), article(false));
  for (int i = 0; i < 20; ++i) data.write(fmt::format("valid/middle/{}.json", i), article(true));
  SparseStudyRequest request = study(tiny, "cloth", data.folder);
  request.steps = 60;
  request.accumulate = 1;
  request.variants = {"dynamic"};
  const SparseStudy answer = sparse_study(request);
  EXPECT_EQ(answer.texts, 30);
  ASSERT_EQ(names_of(answer.variants.at(0)), std::vector<std::string>{"accuracy"});
  EXPECT_GE(answer.variants[0].metrics[0].value, 0.9);

  const auto told = [&](const std::string& text) {
    data.write("train/high/0.json", text);
    request.output += "_";
    return refusal_of([&] { sparse_study(request); });
  };
  EXPECT_EQ(told(R"({"article": "_", "answers": ["A"]})"), "O1875 `options` is missing");
  EXPECT_EQ(told(R"({"article": "_", "options": [["a", "b", "c"]], "answers": ["A"]})"),
            "O1875 a gap has four options, not 3");
  EXPECT_EQ(told(R"({"article": "_ _", "options": [["a", "b", "c", "d"]], "answers": ["A"]})"),
            "O1875 the article has 2 gaps, 4 options and 1 answers");
  EXPECT_EQ(told(R"({"article": "_", "options": [["a", "b", "c", "d"]], "answers": ["E"]})"),
            "O1652 `E` is no label of this task");
}

TEST(SparseStudy, ARunThatIsResumedGivesTheSameBytes) {
  const TinyModel tiny("study_resume");
  const Data data(tiny, "sst2");
  data.table(kTables[6], "train.tsv", 40, 1);
  data.table(kTables[6], "dev.tsv", 10, 2);
  SparseStudyRequest whole = study(tiny, "sst2", data.folder), parts = whole;
  whole.steps = parts.steps = 8;
  whole.texts.batch = parts.texts.batch = 4;
  parts.output += "_parts";
  const SparseStudy first = sparse_study(whole);
  std::atomic<bool> stop = false;
  parts.texts.interruptible = [&] { return &stop; };
  parts.told = [&](const std::string& variant, const network::StepReport& step, std::int64_t) {
    stop = variant == "dynamic" && step.step >= 3;
  };
  const SparseStudy ended = sparse_study(parts);
  EXPECT_TRUE(ended.ended_early);
  EXPECT_EQ(ended.variants.size(), 2U);
  parts.texts.interruptible = {};
  parts.told = {};
  parts.resume = true;
  const SparseStudy rest = sparse_study(parts);
  ASSERT_EQ(rest.variants.size(), 3U);
  for (std::size_t v = 0; v < 3; ++v) {
    EXPECT_EQ(rest.variants[v].metrics.at(0).value, first.variants[v].metrics.at(0).value);
    const std::string name = "/" + first.variants[v].name + "/model.safetensors";
    EXPECT_EQ(std::string(base::MappedFile(whole.output + name).bytes()),
              std::string(base::MappedFile(parts.output + name).bytes()));
  }
}

TEST(SparseStudy, LabelsOutOfRangeAreNamed) {
  const TinyModel tiny("study_labels");
  for (const char* const bad : {"-1", "2", "maybe", ""}) {
    const Data data(tiny, "sst2");
    data.write("train.tsv", fmt::format("sentence\tlabel\nword1\t0\nword2\t{}\n", bad));
    data.write("dev.tsv", "sentence\tlabel\nword1\t0\n");
    EXPECT_EQ(refusal_of([&] { sparse_study(study(tiny, "sst2", data.folder)); }),
              fmt::format("O1652 `{}` is no label of this task", bad));
  }
}

TEST(SparseStudy, AMaskThatDoesNotFitIsRefusedBeforeAnythingIsLearned) {
  const TinyModel tiny("study_mask");
  const Data data(tiny, "sst2");
  data.table(kTables[6], "train.tsv", 10, 1);
  data.table(kTables[6], "dev.tsv", 10, 2);
  SparseStudyRequest request = study(tiny, "sst2", data.folder);
  request.pattern = tiny.file("wide.json", R"({"class": "BSLongformerSparsityConfig", "block": 32})");
  EXPECT_EQ(refusal_of([&] { sparse_study(request); }).substr(0, 5), "O1810");
  EXPECT_FALSE(std::filesystem::exists(request.output));
}

TEST(SparseStudy, FilesThatAreNotThereAreNamed) {
  const TinyModel tiny("study_files");
  const Data data(tiny, "empty");
  EXPECT_EQ(refusal_of([&] { sparse_study(study(tiny, "rte", data.folder)); }).substr(0, 5), "O1873");
  EXPECT_EQ(refusal_of([&] { sparse_study(study(tiny, "rte", data.folder + "/none")); }).substr(0, 5), "O1873");
  EXPECT_EQ(refusal_of([&] { sparse_study(study(tiny, "cloth", data.folder)); }).substr(0, 5), "O1873");
  EXPECT_EQ(refusal_of([&] { sparse_study(study(tiny, "rtee", data.folder)); }).substr(0, 5), "O1874");
}

}  // namespace
}  // namespace orrery::verbs
