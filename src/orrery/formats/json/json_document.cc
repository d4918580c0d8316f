// nlohmann-json reports events (a key, a number, an opening bracket) in the order of the text but not their places. A
// scan of the same text meets the same tokens in the same order, so that each event takes the next token's place. The
// scan runs only as far as the parser has accepted the text, which keeps it simple. Cost: linear in the text.
#include "orrery/formats/json/json_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "orrery/formats/json/json_places.h"

namespace orrery::formats::json {
namespace {

constexpr std::size_t kDeepest = 64;
constexpr std::size_t kMostValues = 1'000'000;

bool is_separator(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',' || c == ':';
}

// What Python writes for doubles that JSON has no words for, and a number of as many characters.
constexpr std::pair<std::string_view, std::string_view> kNoNumbers[] = {
    {"-Infinity", "-1.000000"}, {"Infinity", "1.000000"}, {"NaN", "1.0"}};

bool is_no_number(std::string_view token) {
  return std::any_of(std::begin(kNoNumbers), std::end(kNoNumbers),
                     [&](const auto& known) { return known.first == token; });
}

// `text` with numbers in their places, which the parser takes; the tree gets what the text has.
std::string with_numbers(std::string text) {
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      at = past_string(text, at);
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && !is_separator(text[end]) &&
           std::string_view("{}[]\"").find(text[end]) == std::string::npos)
      ++end;
    for (const auto& [word, number] : kNoNumbers)
      if (std::string_view(text).substr(at, end - at) == word) text.replace(at, word.size(), number);
    at = std::max(end, at + 1);
  }
  return text;
}

class Builder {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  Builder(const std::shared_ptr<const base::SourceFile>& file, const std::string& code, const std::string& hint)
      : file_(file), text_(file->text), cursor_(file), code_(code), hint_(hint) {
    if (text_.rfind("\xEF\xBB\xBF", 0) == 0) at_ = 3;
  }

  bool null() {
    leaf(Node::Kind::kNull);
    return true;
  }
  bool boolean(bool value) {
    leaf(Node::Kind::kTruth).truth = value;
    return true;
  }
  bool number_integer(number_integer_t value) { return number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) { return number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) { return number(value); }
  bool string(string_t& value) {
    leaf(Node::Kind::kText).text = value;
    return true;
  }
  bool binary(binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Node::Kind::kObject); }
  bool start_array(std::size_t) { return open(Node::Kind::kList); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(string_t& value) {
    stack_.back().members.push_back({value, next().where, {}});
    return true;
  }
  bool parse_error(std::size_t position, const std::string& token, const nlohmann::json::exception& error) {
    if (dynamic_cast<const nlohmann::json::out_of_range*>(&error) != nullptr) {
      const std::size_t size = std::min(token.size(), position);
      const std::string shown = token.size() > 24 ? token.substr(0, 24) + "..." : token;
      base::fail(code_, fmt::format("the number {} is larger than any that JSON can carry", shown),
                 place_at(file_, position - size, static_cast<int>(std::max<std::size_t>(1, size))));
    }
    const std::string what = error.what();
    const std::size_t colon = what.find(": ");
    base::fail(code_, "this is not JSON: " + (colon == std::string::npos ? what : what.substr(colon + 2)),
               place_at(file_, position > 0 ? position - 1 : 0), hint_);
  }

  Node root;

 private:
  struct Token {
    base::Location where;
    std::string_view text;
  };

  Token next() {
    while (at_ < text_.size() && is_separator(text_[at_])) ++at_;
    const std::size_t begin = at_;
    if (at_ < text_.size() && text_[at_] == '"') {
      at_ = past_string(text_, at_);
    } else if (at_ < text_.size() && std::string_view("{}[]").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    } else {
      while (at_ < text_.size() && !is_separator(text_[at_]) && text_[at_] != '}' && text_[at_] != ']') ++at_;
    }
    return {cursor_.at(begin, at_), text_.substr(begin, at_ - begin)};
  }

  Node& place(Node node) {
    if (++values_ > kMostValues)
      base::fail("O0103", fmt::format("the text has more than {} values; no more is read", kMostValues), node.where,
                 "is this the right file?");
    if (stack_.empty()) return root = std::move(node);
    Node& parent = stack_.back();
    if (parent.kind == Node::Kind::kList) return parent.items.emplace_back(std::move(node));
    return parent.members.back().value = std::move(node);
  }

  Node& leaf(Node::Kind kind) {
    const Token token = next();
    Node node;
    node.kind = is_no_number(token.text) ? Node::Kind::kText : kind;
    node.where = token.where;
    if (kind == Node::Kind::kNumber) node.text = token.text;
    return place(std::move(node));
  }
  bool number(double value) {
    leaf(Node::Kind::kNumber).number = value;
    return true;
  }
  bool open(Node::Kind kind) {
    const Token token = next();
    if (stack_.size() >= kDeepest)
      base::fail(code_, fmt::format("brackets nest deeper than {}", kDeepest), token.where);
    Node node;
    node.kind = kind;
    node.where = token.where;
    stack_.push_back(std::move(node));
    return true;
  }
  bool close() {
    next();
    Node node = std::move(stack_.back());
    stack_.pop_back();
    place(std::move(node));
    return true;
  }

  const std::shared_ptr<const base::SourceFile>& file_;
  std::string_view text_;
  Cursor cursor_;
  const std::string& code_;
  const std::string& hint_;
  std::size_t at_ = 0;
  std::size_t values_ = 0;
  std::vector<Node> stack_;
};

}  // namespace

const Member* Node::find(std::string_view key) const {
  const auto found = std::find_if(members.rbegin(), members.rend(), [&](const Member& m) { return m.key == key; });
  return found == members.rend() ? nullptr : &*found;
}

Node parse(const std::shared_ptr<const base::SourceFile>& file, const std::string& code, const std::string& hint) {
  Builder builder(file, code, hint);
  nlohmann::json::sax_parse(file->text, &builder);
  return std::move(builder.root);
}

Node parse_pythons(const std::shared_ptr<const base::SourceFile>& file, const std::string& code,
                   const std::string& hint) {
  Builder builder(file, code, hint);
  nlohmann::json::sax_parse(with_numbers(file->text), &builder);
  return std::move(builder.root);
}

std::string describe(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return "null";
    case Node::Kind::kTruth:
      return node.truth ? "true" : "false";
    case Node::Kind::kNumber:
      return "the number " + node.text.substr(0, 40);
    case Node::Kind::kText:
      return "the text \"" + node.text.substr(0, 60) + "\"";
    case Node::Kind::kList:
      return "a list";
    case Node::Kind::kObject:
      return "an object";
  }
  return "";
}

std::vector<Repeated> repeated(const Node& object) {
  std::vector<const Member*> sorted;
  for (const Member& member : object.members) sorted.push_back(&member);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Member* a, const Member* b) { return a->key < b->key; });
  std::vector<Repeated> found;
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i]->key == sorted[i - 1]->key) found.push_back({sorted[i - 1], sorted[i]});
  return found;
}

}  // namespace orrery::formats::json
