// SQuAD's and CLOTH's files. SQuAD's sets are one document of up to 2 million values: its articles are cut out of it
// and parsed one by one, and places are those in the whole file.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "orrery/base/text/text_file.h"
#include "orrery/formats/json/json_document.h"
#include "orrery/formats/json/json_places.h"
#include "orrery/verbs/sparse/study/study_data.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;
using formats::json::Member;
using formats::json::Node;
using File = std::shared_ptr<const base::SourceFile>;

constexpr std::size_t kMostProblems = 20;

// What must stand at a key.
const Node* demand(const Node& of, const char* key, Node::Kind kind, const char* what, const char* code,
                   base::Diagnostics& found) {
  const Member* const member = of.is_object() ? of.find(key) : nullptr;
  if (member != nullptr && member->value.kind == kind) return &member->value;
  if (member == nullptr)
    found.error(code, fmt::format("`{}` is missing", key), of.where);
  else
    found.error(code, fmt::format("`{}` must be {}, not {}", key, what, formats::json::describe(member->value)),
                member->value.where);
  return nullptr;
}

void add(TextRow& row, const char* name, const Node& value) {
  row.fields.push_back({name, {{value.text, value.where}}});
}

// The answers of a question: SQuAD's list of objects.
void add_answers(const Node& list, TextRow& row, base::Diagnostics& found) {
  std::vector<TextField> texts, starts;
  for (const Node& answer : list.items) {
    const Node* const text = demand(answer, "text", Node::Kind::kText, "a text", "O1650", found);
    const Node* const start = demand(answer, "answer_start", Node::Kind::kNumber, "a number", "O1650", found);
    if (text == nullptr || start == nullptr) continue;
    texts.push_back({text->text, text->where});
    starts.push_back({start->text, start->where});
  }
  row.fields.push_back({"answers.text", std::move(texts)});
  row.fields.push_back({"answers.answer_start", std::move(starts)});
}

void add_article(const Node& article, TextRows& to, base::Diagnostics& found) {
  const Node* const paragraphs = demand(article, "paragraphs", Node::Kind::kList, "a list", "O1650", found);
  if (paragraphs == nullptr) return;
  for (const Node& paragraph : paragraphs->items) {
    const Node* const context = demand(paragraph, "context", Node::Kind::kText, "a text", "O1650", found);
    const Node* const questions = demand(paragraph, "qas", Node::Kind::kList, "a list", "O1650", found);
    if (context == nullptr || questions == nullptr) continue;
    for (const Node& one : questions->items) {
      if (found.all().size() >= kMostProblems) return;
      const Node* const question = demand(one, "question", Node::Kind::kText, "a text", "O1650", found);
      const Node* const answers = demand(one, "answers", Node::Kind::kList, "a list", "O1650", found);
      if (question == nullptr || answers == nullptr) continue;
      TextRow row{one.where, {}};
      add(row, "question", *question);
      add(row, "context", *context);
      const Member* const impossible = one.find("is_impossible");
      if (impossible == nullptr || !impossible->value.truth) add_answers(*answers, row, found);
      to.rows.push_back(std::move(row));
    }
  }
}

// The bytes just past a value that begins with a bracket.
std::size_t past(std::string_view text, std::size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = formats::json::past_string(text, at);
      continue;
    }
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    ++at;
    if (depth == 0) break;
  }
  return at;
}

void shift(Node& node, const File& file, const base::Location& begin) {
  const int column = node.where.line == 1 ? node.where.column + begin.column - 1 : node.where.column;
  node.where = {file, node.where.line + begin.line - 1, column, node.where.length};
  for (Node& item : node.items) shift(item, file, begin);
  for (Member& member : node.members) shift(member.value, file, begin);
}

// The objects of the list at the key `data`, each as a text and where it begins; nothing where there is no such list.
std::optional<std::vector<std::pair<std::string, base::Location>>> articles_of(const File& file) {
  const std::string_view text = file->text;
  std::size_t at = text.find_first_not_of(" \t\r\n");
  if (at == std::string::npos || text[at] != '{') return std::nullopt;
  ++at;
  while (at < text.size() && text[at] != '}') {
    at = text.find('"', at);
    if (at == std::string::npos) return std::nullopt;
    const std::size_t end = formats::json::past_string(text, at);
    const bool is_data = text.substr(at, end - at) == "\"data\"";
    at = text.find_first_not_of(" \t\r\n:", end);
    if (at == std::string::npos) return std::nullopt;
    if (!is_data || text[at] != '[') {
      at = text[at] == '"'                      ? formats::json::past_string(text, at)
           : text[at] == '[' || text[at] == '{' ? past(text, at)
                                                : std::min(text.find_first_of(",}", at), text.size());
      at = std::min(text.find_first_of("\"}", at), text.size());
      continue;
    }
    std::vector<std::pair<std::string, base::Location>> out;
    formats::json::Cursor cursor(file);
    for (++at; at < text.size() && text[at] != ']';) {
      if (text[at] != '{') {
        ++at;
        continue;
      }
      const std::size_t object_end = past(text, at);
      out.emplace_back(std::string(text.substr(at, object_end - at)), cursor.at(at, at + 1));
      at = object_end;
    }
    return out;
  }
  return std::nullopt;
}

Node parsed(const File& file, const std::string& text, const base::Location& begin) {
  const auto part = std::make_shared<const base::SourceFile>(base::SourceFile{file->name, text});
  try {
    Node node = formats::json::parse(part, "O1650");
    shift(node, file, begin);
    return node;
  } catch (base::InputError& error) {
    for (base::Diagnostic& said : error.diagnostics)
      if (base::Location& where = said.primary.where; where.file == part)
        where = {file, where.line + begin.line - 1, where.line == 1 ? where.column + begin.column - 1 : where.column,
                 where.length};
    throw;
  }
}

// {"question", "context", "answers": {"text": [], "answer_start": []}} as an article's part.
void add_example(const Node& example, TextRows& to, base::Diagnostics& found) {
  const Node* const question = demand(example, "question", Node::Kind::kText, "a text", "O1650", found);
  const Node* const context = demand(example, "context", Node::Kind::kText, "a text", "O1650", found);
  const Node* const answers = demand(example, "answers", Node::Kind::kObject, "an object", "O1650", found);
  if (question == nullptr || context == nullptr || answers == nullptr) return;
  TextRow row{example.where, {}};
  add(row, "question", *question);
  add(row, "context", *context);
  for (const char* const key : {"text", "answer_start"}) {
    const Node* const list = demand(*answers, key, Node::Kind::kList, "a list", "O1650", found);
    std::vector<TextField> values;
    if (list != nullptr)
      for (const Node& item : list->items) values.push_back({item.text, item.where});
    row.fields.push_back({std::string("answers.") + key, std::move(values)});
  }
  to.rows.push_back(std::move(row));
}

void add_cloze(const fs::path& path, TextRows& to, base::Diagnostics& found) {
  const File file = read_data_file(path.string());
  const Node root = formats::json::parse(file, "O1875");
  if (!root.is_object()) {
    found.error("O1875", fmt::format("an article is an object, not {}", formats::json::describe(root)), root.where);
    return;
  }
  const Node* const article = demand(root, "article", Node::Kind::kText, "a text", "O1875", found);
  const Node* const options = demand(root, "options", Node::Kind::kList, "a list", "O1875", found);
  const Node* const answers = demand(root, "answers", Node::Kind::kList, "a list", "O1875", found);
  if (article == nullptr || options == nullptr || answers == nullptr) return;
  TextRow row{root.where, {}};
  add(row, "article", *article);
  std::vector<TextField> words, letters;
  for (const Node& four : options->items) {
    if (four.items.size() != 4) {
      found.error("O1875", fmt::format("a gap has four options, not {}", four.items.size()), four.where);
      return;
    }
    for (const Node& option : four.items) words.push_back({option.text, option.where});
  }
  for (const Node& answer : answers->items) letters.push_back({answer.text, answer.where});
  row.fields.push_back({"options", std::move(words)});
  row.fields.push_back({"answers", std::move(letters)});
  to.rows.push_back(std::move(row));
}

}  // namespace

TextRows read_squad(const std::string& path) {
  const std::string ending = fs::path(path).extension().string();
  TextRows out;
  out.path = path;
  out.columns = {"question", "context", "answers.text", "answers.answer_start"};
  if (ending == ".json") {
    const File file = read_data_file(path);
    if (const auto articles = articles_of(file)) {
      base::Diagnostics found;
      for (const auto& [text, begin] : *articles) {
        const Node node = parsed(file, text, begin);
        node.find("paragraphs") != nullptr || node.find("question") == nullptr ? add_article(node, out, found)
                                                                               : add_example(node, out, found);
        if (found.all().size() >= kMostProblems) break;
      }
      found.throw_if_errors();
      if (out.rows.empty()) base::fail("O1650", fmt::format("`{}` has no text", path), {file, 0, 0});
      return out;
    }
  }
  TextRows rows = read_text_rows(path);
  // As NumPy prints it: {'text': array([...], dtype=object), 'answer_start': array([...])}.
  const auto* const answers = rows.rows.empty() ? nullptr : rows.rows.front().find("answers");
  if (answers != nullptr && !answers->empty() && answers->front().text.starts_with('{'))
    base::fail("O1650", "the answers are a Python object, written as text", answers->front().where,
               "export the set to JSON lines (`to_json`), or take SQuAD's own .json file");
  return rows;
}

TextRows read_cloth(const std::string& folder, const std::string& part) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (fs::recursive_directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    const fs::path below = fs::relative(entry->path(), folder);
    if (entry->path().extension() == ".json" && std::find(below.begin(), below.end(), part) != below.end())
      files.push_back(entry->path());
  }
  if (files.empty())
    base::fail("O1873", fmt::format("`{}` has no articles of `{}`", folder, part), {},
               fmt::format("they are .json files in a folder named {}, however deep it lies", part));
  std::sort(files.begin(), files.end());
  TextRows out;
  out.path = folder;
  out.columns = {"article", "options", "answers"};
  base::Diagnostics found;
  for (const fs::path& path : files) {
    add_cloze(path, out, found);
    if (found.all().size() >= kMostProblems) break;
  }
  found.throw_if_errors();
  return out;
}

}  // namespace orrery::verbs
