// Classification reads a text or a pair; questions read a question and, in windows that overlap, a context, and the
// span of tokens that covers the answer (a window without the answer points to its first token, as Hugging Face's
// examples have it); language tasks read texts cut into pieces of the most tokens.
#include "orrery/inputs/networks/task_examples.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"

namespace orrery::verbs {
namespace {

using formats::tokenizer::Encoding;
using formats::tokenizer::Token;
using formats::tokenizer::Truncate;

struct Found {
  std::string text, second, label;
};

constexpr std::initializer_list<const char*> kTextNames = {"text",      "sentence", "sentence1", "premise",
                                                           "question1", "question", "content"};

std::string first_of(const TextRows& rows, const std::string& given, std::initializer_list<const char*> usual) {
  if (!given.empty()) return given;
  for (const char* const name : usual)
    if (std::find(rows.columns.begin(), rows.columns.end(), name) != rows.columns.end()) return name;
  return "";
}

void demand_column(const TextRows& rows, const std::string& name, const char* what, const char* option,
                   base::Diagnostics& found) {
  if (!name.empty() && std::find(rows.columns.begin(), rows.columns.end(), name) != rows.columns.end()) return;
  found
      .error("O1651",
             name.empty() ? fmt::format("`{}` has no column that is known as {}", rows.path, what)
                          : fmt::format("`{}` has no column `{}`", rows.path, name),
             rows.rows[0].where)
      .note(fmt::format("its columns are {}", base::joined(rows.columns, ", ")))
      .hint(fmt::format("name it: `{} NAME`", option));
}

Found columns_of(const TextRows& rows, Task task, const Columns& given) {
  base::Diagnostics found;
  Found out;
  const bool questions = task == Task::kQuestions;
  out.text = questions ? first_of(rows, given.text, {"question"}) : first_of(rows, given.text, kTextNames);
  demand_column(rows, out.text, questions ? "the question" : "the text", "--text-column", found);
  if (questions)
    out.second = first_of(rows, given.second, {"context", "passage"});
  else if (task == Task::kClassification || task == Task::kRegression)
    out.second = first_of(rows, given.second, {"sentence2", "hypothesis", "question2"});
  if (out.second.empty() && out.text == "question" && !questions) out.second = first_of(rows, "", {"sentence"});
  if (questions || !given.second.empty()) demand_column(rows, out.second, "the context", "--second-column", found);
  if (task == Task::kClassification || task == Task::kRegression) {
    out.label = first_of(rows, given.label, {"label", "labels", "score", "gold_label", "class", "target"});
    demand_column(rows, out.label, "the label", "--label-column", found);
  }
  found.throw_if_errors();
  return out;
}

const TextField* value_of(const TextRow& row, const std::string& column) {
  const std::vector<TextField>* const values = row.find(column);
  return values == nullptr || values->empty() ? nullptr : &values->front();
}

// The byte at which a code point stands; one past the end is allowed.
std::optional<std::size_t> byte_of(const std::string& text, std::int64_t code_point) {
  std::size_t at = 0;
  for (; code_point > 0 && at < text.size(); --code_point) do
      ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  if (code_point != 0) return std::nullopt;
  return at;
}

constexpr std::size_t kMostErrors = 20;

void no_label(const base::Location& where, base::Diagnostics& found) {
  found.error("O1652", "the row has no label", where);
}

network::Example example_of(const Encoding& tokens) {
  network::Example example;
  for (const Token& token : tokens) example.words.push_back(token.id), example.types.push_back(token.type);
  return example;
}

class Maker {
 public:
  Maker(const TextRows& rows, Task task, const Found& columns, const CheckpointModel& model, std::size_t most,
        std::size_t stride, const std::vector<std::string>& labels)
      : rows_(rows), task_(task), columns_(columns), model_(model), most_(most), stride_(stride) {
    out_.labels = labels;
  }

  TaskExamples run() {
    for (std::size_t r = 0; r < rows_.rows.size() && found_.all().size() < kMostErrors; ++r) {
      const TextField* const text = value_of(rows_.rows[r], columns_.text);
      if (text == nullptr) {
        found_.error("O1651", fmt::format("the row has no `{}`", columns_.text), rows_.rows[r].where);
        continue;
      }
      if (task_ == Task::kCloze)
        cloze(r, *text);
      else if (task_ == Task::kQuestions)
        question(r, *text);
      else if (task_ == Task::kClassification || task_ == Task::kRegression)
        labelled(r, *text);
      else
        language(r, *text);
    }
    found_.throw_if_errors();
    if (out_.examples.empty())
      base::fail("O1650", fmt::format("`{}` has no text {}", rows_.path,
                                      task_ == Task::kMaskedWords
                                          ? "with a word that can be masked: does the tokenizer know its words?"
                                          : "of two tokens"));
    return std::move(out_);
  }

 private:
  void add(std::size_t row, network::Example example) {
    out_.examples.push_back(std::move(example));
    out_.row.push_back(row);
  }

  std::vector<Encoding> encoded(const TextField& text, const TextField* second, Truncate truncate, std::size_t stride) {
    return encode_at(*model_.tokenizer, text,
                     second == nullptr ? std::nullopt : std::optional<std::string_view>(second->text),
                     {truncate, most_, stride});
  }

  void labelled(std::size_t r, const TextField& text) {
    const TextField* const second = columns_.second.empty() ? nullptr : value_of(rows_.rows[r], columns_.second);
    const std::vector<Encoding> windows = encoded(text, second, Truncate::kLongestFirst, 0);
    out_.cut += windows.size() > 1;
    network::Example example = example_of(windows.front());
    const TextField* const label = value_of(rows_.rows[r], columns_.label);
    const base::Location where = label == nullptr ? rows_.rows[r].where : label->where;
    if (label == nullptr || label->text.empty()) {
      no_label(where, found_);
      return;
    }
    if ((task_ == Task::kClassification ? !set_class(*label, example) : !set_value(*label, example))) {
      base::Diagnostic& said = found_.error("O1652", fmt::format("`{}` is no label of this task", label->text), where);
      if (task_ == Task::kClassification)
        said.note(fmt::format("the classes are {}", base::joined(out_.labels, ", ")));
      else
        said.note("a finite number must stand here");
      return;
    }
    add(r, std::move(example));
  }

  // By name, or by number.
  bool set_class(const TextField& label, network::Example& example) const {
    const auto named = std::find(out_.labels.begin(), out_.labels.end(), label.text);
    if (named != out_.labels.end()) {
      example.label = static_cast<std::int32_t>(named - out_.labels.begin());
      return true;
    }
    const auto number = base::parse_number<std::int64_t>(label.text);
    if (!number || *number < 0 || static_cast<std::size_t>(*number) >= out_.labels.size()) return false;
    example.label = static_cast<std::int32_t>(*number);
    return true;
  }

  static bool set_value(const TextField& label, network::Example& example) {
    const auto value = base::parse_number<float>(label.text);
    example.value = value.value_or(0);
    return value && std::abs(*value) < 1e30F;
  }

  void language(std::size_t r, const TextField& text) {
    // Whole texts, cut into windows of the most tokens.
    for (const Encoding& window : encoded(text, nullptr, Truncate::kOnlyFirst, 0))
      if (window.size() > 1 && teaches(window)) add(r, example_of(window));
  }

  // A text of special and unknown tokens alone has no word to find again.
  bool teaches(const Encoding& window) const {
    return task_ != Task::kMaskedWords || std::any_of(window.begin(), window.end(), [&](const Token& token) {
             return network::may_be_masked(token.id, model_.rules);
           });
  }

  // The first piece of a word, which stands for it.
  std::int32_t piece_of(const std::string& word) const {
    const std::vector<Encoding> pieces = model_.tokenizer->encode(word, {}, {}, false);
    return pieces.empty() || pieces.front().empty() ? -1 : pieces.front().front().id;
  }

  // A text whose gaps are underscores: each becomes the mask, and the piece of its answer what it hides.
  void cloze(std::size_t r, const TextField& text) {
    const TextRow& row = rows_.rows[r];
    const auto *const options = row.find("options"), *const answers = row.find("answers");
    const auto blank = model_.tokenizer->find("_");
    if (options == nullptr || answers == nullptr || !blank) {
      found_.error("O1875", blank ? "the row has no options and answers" : "the tokenizer has no token `_`", row.where);
      return;
    }
    const std::vector<Encoding> windows =
        model_.tokenizer->encode(base::lower(text.text), {}, {Truncate::kOnlyFirst, most_, 0});
    out_.cut += windows.size() > 1;
    std::size_t blanks = 0;
    for (const Encoding& window : windows)
      for (const Token& token : window) blanks += token.id == *blank;
    if (blanks != answers->size() || options->size() != 4 * blanks) {
      found_
          .error("O1875",
                 fmt::format("the article has {} gaps, {} options and {} answers", blanks, options->size(),
                             answers->size()),
                 text.where)
          .hint("a gap is an underscore; it has four options, and an answer from A to D");
      return;
    }
    network::Example example = example_of(windows.front());
    example.hidden.assign(example.words.size(), network::kNoLabel);
    std::vector<Gap> gaps;
    for (std::size_t i = 0; i < example.words.size(); ++i) {
      if (example.words[i] != *blank) continue;
      Gap gap;
      const TextField& answer = (*answers)[gaps.size()];
      for (std::size_t k = 0; k < 4; ++k) {
        const TextField& option = (*options)[4 * gaps.size() + k];
        gap.choices[k] = piece_of(option.text);
        if (gap.choices[k] < 0) found_.error("O1875", "the option has no word", option.where);
      }
      if (answer.text.size() != 1 || answer.text[0] < 'A' || answer.text[0] > 'D') {
        found_.error("O1652", fmt::format("`{}` is no label of this task", answer.text), answer.where)
            .note("the classes are A, B, C, D");
        return;
      }
      gap.right = static_cast<std::size_t>(answer.text[0] - 'A');
      example.words[i] = model_.rules.mask;
      example.hidden[i] = gap.choices[gap.right];
      gaps.push_back(gap);
    }
    if (gaps.empty()) return;  // all of them lie beyond the cut
    out_.gaps.push_back(std::move(gaps));
    add(r, std::move(example));
  }

  struct Answer {
    std::size_t begin = 0, end = 0;  // bytes of the context
  };

  // The first answer with a place; nothing where the row has none.
  std::optional<Answer> answer_of(std::size_t r, const std::string& context) {
    const TextRow& row = rows_.rows[r];
    out_.answers.emplace_back();
    const std::vector<TextField>* texts = nullptr;
    for (const char* const name : {"answers.text", "answer_text", "answer", "answers"})
      if (texts == nullptr) texts = row.find(name);
    const std::vector<TextField>* begins = nullptr;
    for (const char* const name : {"answers.answer_start", "answer_start"})
      if (begins == nullptr) begins = row.find(name);
    if (texts == nullptr || texts->empty() || texts->front().text.empty()) return std::nullopt;
    for (const TextField& text : *texts) out_.answers.back().push_back(text.text);
    const TextField& text = texts->front();
    std::optional<std::size_t> begin;
    if (begins != nullptr && !begins->empty()) {
      const auto number = base::parse_number<std::int64_t>(begins->front().text);
      begin = number && *number >= 0 ? byte_of(context, *number) : std::nullopt;
    } else if (const std::size_t at = context.find(text.text); at != std::string::npos) {
      begin = at;
    }
    if (!begin || context.compare(*begin, text.text.size(), text.text) != 0) {
      found_.error("O1653",
                   fmt::format("the answer `{}` does not stand in its context{}", text.text,
                               begin ? " at its `answer_start`, which counts characters" : ""),
                   text.where);
      return std::nullopt;
    }
    return Answer{*begin, *begin + text.text.size()};
  }

  void question(std::size_t r, const TextField& text) {
    const TextField* const context = value_of(rows_.rows[r], columns_.second);
    if (context == nullptr) {
      found_.error("O1651", fmt::format("the row has no `{}`", columns_.second), rows_.rows[r].where);
      return;
    }
    out_.contexts.resize(r + 1);
    out_.contexts[r] = context->text;
    out_.answers.resize(r);
    const std::optional<Answer> answer = answer_of(r, context->text);
    for (const Encoding& window : encoded(text, context, Truncate::kOnlySecond, stride_)) {
      network::Example example = example_of(window);
      example.begin = example.end = 0;  // the window does not hold the answer
      std::vector<std::pair<std::int64_t, std::int64_t>> places;
      std::optional<std::size_t> first, last;
      for (std::size_t i = 0; i < window.size(); ++i) {
        const Token& token = window[i];
        places.push_back(token.sequence == 1 ? std::pair<std::int64_t, std::int64_t>(token.begin, token.end)
                                             : std::pair<std::int64_t, std::int64_t>(-1, -1));
        if (token.sequence != 1 || !answer) continue;
        if (token.begin <= answer->begin && answer->begin < token.end) first = i;
        if (token.begin < answer->end && answer->end <= token.end) last = i;
      }
      if (first && last && *first <= *last) {
        example.begin = static_cast<std::int32_t>(*first);
        example.end = static_cast<std::int32_t>(*last);
      }
      out_.places.push_back(std::move(places));
      add(r, std::move(example));
    }
  }

  const TextRows& rows_;
  Task task_;
  const Found& columns_;
  const CheckpointModel& model_;
  std::size_t most_, stride_;
  TaskExamples out_;
  base::Diagnostics found_;
};

}  // namespace

const char* name_of(Task task) {
  switch (task) {
    case Task::kClassification:
      return "classification";
    case Task::kRegression:
      return "regression";
    case Task::kQuestions:
      return "qa";
    case Task::kMaskedWords:
      return "mlm";
    case Task::kNextWord:
      return "causal";
    case Task::kCloze:
      return "cloze";
  }
  return "";
}

std::vector<std::string> class_names(const TextRows& rows, const Columns& columns) {
  const Found found = columns_of(rows, Task::kClassification, columns);
  std::set<std::string> names;
  std::int64_t largest = -1;
  bool numbers = true;
  base::Diagnostics lacking;
  for (const TextRow& row : rows.rows) {
    const TextField* const label = value_of(row, found.label);
    if (label == nullptr || label->text.empty()) {
      if (lacking.all().size() < kMostErrors) no_label(label == nullptr ? row.where : label->where, lacking);
      continue;
    }
    names.insert(label->text);
    const auto number = base::parse_number<std::int64_t>(label->text);
    numbers = numbers && number && *number >= 0 && *number < 100'000;
    if (number) largest = std::max(largest, *number);
  }
  lacking.throw_if_errors();
  if (!numbers) return {names.begin(), names.end()};
  std::vector<std::string> out;
  for (std::int64_t i = 0; i <= largest; ++i) out.push_back(std::to_string(i));
  return out;
}

std::string text_column(const TextRows& rows, const Columns& columns) {
  std::string name = first_of(rows, columns.text, kTextNames);
  if (name.empty() && rows.columns.size() == 1) return rows.columns.front();
  base::Diagnostics found;
  demand_column(rows, name, "the text", "--text-column", found);
  found.throw_if_errors();
  return name;
}

std::vector<Encoding> encode_at(const formats::tokenizer::Tokenizer& tokenizer, const TextField& text,
                                std::optional<std::string_view> second, const formats::tokenizer::Limits& limits) {
  try {
    return tokenizer.encode(text.text, second, limits);
  } catch (base::InputError& error) {
    for (base::Diagnostic& said : error.diagnostics)
      if (said.primary.where.file == nullptr) said.primary.where = text.where;
    throw;
  }
}

TaskExamples task_examples(const TextRows& rows, Task task, const Columns& columns, const CheckpointModel& model,
                           std::size_t most_tokens, std::size_t stride, const std::vector<std::string>& labels) {
  const Found found = columns_of(rows, task, columns);
  return Maker(rows, task, found, model, most_tokens, stride, labels).run();
}

}  // namespace orrery::verbs
