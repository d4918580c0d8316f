// Rows of texts as what a task learns from.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/inputs/networks/checkpoint_model.h"
#include "orrery/inputs/networks/text_rows.h"
#include "orrery/runtime/network/examples.h"

namespace orrery::verbs {

enum class Task { kClassification, kRegression, kQuestions, kMaskedWords, kNextWord, kCloze };
const char* name_of(Task task);  // "classification", "qa", ...

// Columns by name; empty: found by the names that data sets use.
struct Columns {
  std::string text, second, label;
};

struct Gap {
  std::array<std::int32_t, 4> choices{};
  std::size_t right = 0;
};

struct TaskExamples {
  std::vector<network::Example> examples;  // windows of the rows
  std::vector<std::size_t> row;            // that each is of
  std::vector<std::string> labels;         // names of the classes
  // Of questions: where each token of an example stands in the context (bytes), -1: elsewhere.
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> places;
  std::vector<std::string> contexts;              // of each row
  std::vector<std::vector<std::string>> answers;  // of each row; none: it has no answer
  // Of clozes: the four words that each gap of an example may have, and which it has, in the order of the text.
  std::vector<std::vector<Gap>> gaps;
  std::size_t cut = 0;  // texts that were longer than the limit
};

// The classes that the labels of a file name: whole numbers from 0 on, or names in order of the alphabet.
std::vector<std::string> class_names(const TextRows& rows, const Columns& columns);

// The column of texts that stand alone: the one that is named, else the first of the usual names, else the only one.
// Throws InputError (O1651).
std::string text_column(const TextRows& rows, const Columns& columns);

// What the tokenizer refuses (O1625, O1626) is said at the text's place.
std::vector<formats::tokenizer::Encoding> encode_at(const formats::tokenizer::Tokenizer& tokenizer,
                                                    const TextField& text, std::optional<std::string_view> second,
                                                    const formats::tokenizer::Limits& limits);

// `labels`: the classes that are known; a label that is none of them is an error. Throws InputError: O1651 (columns),
// O1652 (labels), O1653 (answers that do not stand in their context), O1875 (gaps that have no choices).
TaskExamples task_examples(const TextRows& rows, Task task, const Columns& columns, const CheckpointModel& model,
                           std::size_t most_tokens, std::size_t stride, const std::vector<std::string>& labels);

}  // namespace orrery::verbs
