// Figures of the tasks: Sanger's scripts (L. Lu et al., MICRO 2021), which take transformers' examples. Files and
// columns: gluebenchmark.com, rajpurkar.github.io/SQuAD-explorer, the CLOTH data set, and the datasets library's
// exports.
#include "orrery/verbs/sparse/study/study_data.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

// A task of GLUE: columns as they are called in its own tables, then in exports.
struct Glue {
  const char* name;
  const char* folder;
  Task task;
  Names text, second, label;
  Names metrics;
  Names header = {};  // of tables without one
};

const std::vector<Glue>& glue() {
  static const std::vector<Glue> tasks = {
      {"cola",
       "CoLA",
       Task::kClassification,
       {"sentence"},
       {},
       {"label"},
       {"matthews"},
       {"source", "label", "star", "sentence"}},
      {"mnli",
       "MNLI",
       Task::kClassification,
       {"sentence1", "premise"},
       {"sentence2", "hypothesis"},
       {"gold_label", "label"},
       {"accuracy"}},
      {"mrpc",
       "MRPC",
       Task::kClassification,
       {"#1 String", "sentence1"},
       {"#2 String", "sentence2"},
       {"Quality", "label"},
       {"accuracy", "f1"}},
      {"qnli",
       "QNLI",
       Task::kClassification,
       {"question", "sentence1"},
       {"sentence", "sentence2"},
       {"label"},
       {"accuracy"}},
      {"qqp",
       "QQP",
       Task::kClassification,
       {"question1", "sentence1"},
       {"question2", "sentence2"},
       {"is_duplicate", "label"},
       {"accuracy", "f1"}},
      {"rte", "RTE", Task::kClassification, {"sentence1"}, {"sentence2"}, {"label"}, {"accuracy"}},
      {"sst2", "SST-2", Task::kClassification, {"sentence", "sentence1"}, {}, {"label"}, {"accuracy"}},
      {"stsb", "STS-B", Task::kRegression, {"sentence1"}, {"sentence2"}, {"score", "label"}, {"pearson", "spearman"}},
      {"wnli", "WNLI", Task::kClassification, {"sentence1"}, {"sentence2"}, {"label"}, {"accuracy"}}};
  return tasks;
}

const Glue* glue_named(const std::string& name) {
  for (const Glue& one : glue())
    if (name == one.name) return &one;
  return nullptr;
}

constexpr const char* kEndings[] = {".tsv", ".csv", ".jsonl", ".json"};

// The first of the names, with any ending, in one of the folders.
std::optional<fs::path> first_file(const std::vector<fs::path>& folders, const Names& names) {
  std::error_code ignored;
  for (const fs::path& folder : folders)
    for (const std::string& name : names) {
      if (fs::path(name).has_extension() && fs::is_regular_file(folder / name, ignored)) return folder / name;
      for (const char* const ending : kEndings)
        if (fs::is_regular_file(folder / (name + ending), ignored)) return folder / (name + ending);
    }
  return std::nullopt;
}

[[noreturn]] void lacks(const std::string& task, const std::string& folder, const char* what, const Names& names) {
  base::fail(
      "O1873", fmt::format("`{}` has no {} of `{}`", folder, what, task), {},
      fmt::format("a file named {} is looked for, ending in .tsv, .csv, .jsonl or .json", base::joined(names, " or ")));
}

fs::path demanded(const StudyTask& task, const std::string& folder, const std::vector<fs::path>& folders,
                  const char* what, const Names& names) {
  const auto found = first_file(folders, names);
  if (!found) lacks(task.name, folder, what, names);
  return *found;
}

// Whole numbers from 0 on, or the classes' names; of similarities numbers from 0 to 5. Test sets have -1.
bool is_label(const Glue& task, const std::string& text) {
  if (task.task == Task::kRegression) return base::parse_number<double>(text, 0, 5).has_value();
  const bool three = std::string_view(task.name) == "mnli";
  if (text == "0" || text == "1" || (three && text == "2")) return true;
  return text == "entailment" || (three ? text == "neutral" || text == "contradiction" : text == "not_entailment");
}

void check_labels(const Glue& task, const TextRows& rows, const std::string& column) {
  base::Diagnostics found;
  for (const TextRow& row : rows.rows) {
    const std::vector<TextField>* const label = row.find(column);
    if (label == nullptr || label->empty() || is_label(task, label->front().text)) continue;
    base::Diagnostic& said =
        found.error("O1652", fmt::format("`{}` is no label of this task", label->front().text), label->front().where);
    said.note(task.task == Task::kRegression          ? "similarities are numbers from 0 to 5"
              : std::string_view(task.name) == "mnli" ? "labels are 0, 1, 2 or entailment, neutral, contradiction"
                                                      : "labels are 0, 1 or entailment, not_entailment");
    if (label->front().text == "-1") said.hint("test sets have no labels: take the training and development sets");
    if (found.all().size() >= 20) break;
  }
  found.throw_if_errors();
}

std::string column_of(const TextRows& rows, const Names& names) {
  for (const std::string& name : names)
    if (std::find(rows.columns.begin(), rows.columns.end(), name) != rows.columns.end()) return name;
  return names.empty() ? "" : names.front();  // which is then said to be missing
}

std::shared_ptr<const TextRows> glue_rows(const Glue& task, const fs::path& path, Columns& columns,
                                          base::Diagnostics& warnings) {
  TextRules rules;
  const bool table = path.extension() == ".tsv" || path.extension() == ".txt";
  rules.tabs = table, rules.skips = table;
  if (table) rules.header = task.header;
  auto rows = std::make_shared<TextRows>(read_text_rows(path.string(), rules));
  if (rows->skipped > 0)
    warnings.warning(
        "O1876", fmt::format("{} of `{}` {} too few or too many cells, and {} left out",
                             base::counted(rows->skipped, "row"), path.string(),
                             base::plural(rows->skipped, "has", "have"), base::plural(rows->skipped, "was", "were")));
  const Columns found = {column_of(*rows, task.text), column_of(*rows, task.second), column_of(*rows, task.label)};
  // Sets of one task may have been exported by different programs.
  const auto rename = [&](const std::string& from, const std::string& to) {
    if (from == to || from.empty()) return;
    for (std::string& name : rows->columns)
      if (name == from) name = to;
    for (TextRow& row : rows->rows)
      for (auto& field : row.fields)
        if (field.first == from) field.first = to;
  };
  check_labels(task, *rows, found.label);
  if (columns.text.empty()) columns = found;
  rename(found.text, columns.text);
  rename(found.second, columns.second);
  rename(found.label, columns.label);
  return rows;
}

StudyData read_glue(const StudyTask& task, const Glue& glue, const std::string& folder, base::Diagnostics& warnings) {
  const std::vector<fs::path> folders = {folder, fs::path(folder) / glue.folder, fs::path(folder) / glue.name};
  StudyData out;
  Names train = {"train"};
  if (task.name == "mrpc") train.emplace_back("msr_paraphrase_train.txt");
  out.train = glue_rows(glue, demanded(task, folder, folders, "training set", train), out.columns, warnings);
  const auto add = [&](const char* suffix, const Names& names) {
    out.held.push_back(
        {suffix, glue_rows(glue, demanded(task, folder, folders, "held-out set", names), out.columns, warnings)});
  };
  if (task.name == "mnli") {
    add("", {"dev_matched", "validation_matched"});
    add("_mm", {"dev_mismatched", "validation_mismatched"});
  } else {
    Names names = {"dev", "validation"};
    if (task.name == "mrpc") names.emplace_back("msr_paraphrase_test.txt");
    add("", names);
  }
  return out;
}

}  // namespace

Names study_task_names() {
  Names names;
  for (const Glue& one : glue()) names.emplace_back(one.name);
  for (const char* const name : {"squad", "squad_v2", "cloth"}) names.emplace_back(name);
  return names;
}

StudyTask study_task(const std::string& name) {
  StudyTask out;
  out.name = name;
  if (const Glue* const found = glue_named(name)) {
    out.task = found->task, out.metrics = found->metrics;
  } else if (name == "squad" || name == "squad_v2") {
    out.task = Task::kQuestions, out.tokens = 384, out.batch = 12, out.epochs = 2, out.rate = 3e-5;
    out.threshold = 0.002, out.metrics = {"exact_match", "f1"};
  } else if (name == "cloth") {
    out.task = Task::kCloze, out.tokens = 512, out.batch = 3, out.accumulate = 10, out.epochs = 20, out.rate = 5e-5;
    out.first_at_once = true, out.clip = 0;
    out.threshold = 0.002, out.metrics = {"accuracy"};
  } else {
    const Names known = study_task_names();
    base::fail("O1874", fmt::format("there is no task `{}`", name), {},
               base::did_you_mean(name, known, fmt::format("there are {}", base::joined(known, ", "))));
  }
  return out;
}

StudyData read_study_data(const StudyTask& task, const std::string& folder, base::Diagnostics& warnings) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    base::fail("O1873", fmt::format("`{}` is no folder", folder), {}, "name the folder of the task's files");
  if (const Glue* const found = glue_named(task.name)) return read_glue(task, *found, folder, warnings);
  StudyData out;
  if (task.task == Task::kCloze) {
    out.columns.text = "article";
    out.train = std::make_shared<TextRows>(read_cloth(folder, "train"));
    out.held.push_back({"", std::make_shared<TextRows>(read_cloth(folder, "valid"))});
    return out;
  }
  const std::string version = task.name == "squad" ? "-v1.1" : "-v2.0";
  const auto read = [&](const char* what, const Names& names) {
    return std::make_shared<TextRows>(read_squad(demanded(task, folder, {folder}, what, names).string()));
  };
  out.train = read("training set", {"train" + version + ".json", "train"});
  out.held.push_back({"", read("held-out set", {"dev" + version + ".json", "dev", "validation"})});
  return out;
}

}  // namespace orrery::verbs
