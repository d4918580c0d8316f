#include "orrery/formats/dfmodel/text_mistake.h"

#include <fmt/format.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "orrery/base/text/edit_distance.h"
#include "orrery/formats/dfmodel/setup_fields.h"
#include "orrery/formats/dfmodel/setup_schema.h"

namespace orrery::formats::dfmodel {

namespace pb = google::protobuf;

namespace {

struct Token {
  std::size_t begin = 0, end = 0;
  pb::io::Tokenizer::TokenType type{};
  std::string text;
};

class Silent : public pb::io::ErrorCollector {
  void AddError(int, pb::io::ColumnNumber, const std::string&) override {}
};

// The tokens up to the one at `stop`, that one included, or all when none stands there.
std::vector<Token> tokens_to(std::size_t stop, const std::string& text, const TextLines& lines) {
  pb::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  Silent silent;
  pb::io::Tokenizer tokenizer(&stream, &silent);
  tokenizer.set_allow_f_after_float(true);
  tokenizer.set_comment_style(pb::io::Tokenizer::SH_COMMENT_STYLE);
  tokenizer.set_require_space_after_number(false);
  tokenizer.set_allow_multiline_strings(true);
  std::vector<Token> tokens;
  while (tokenizer.Next()) {
    const pb::io::Tokenizer::Token& token = tokenizer.current();
    const std::size_t begin = lines.offset(token.line, token.column);
    if (begin > stop) break;
    tokens.push_back({begin, begin + token.text.size(), token.type, token.text});
  }
  return tokens;
}

// The text between the n-th pair of quotes, n from 0.
std::string quoted(const std::string& message, int n) {
  std::size_t open = message.find('"');
  for (; n > 0 && open != std::string::npos; --n) {
    const std::size_t close = message.find('"', open + 1);
    open = close == std::string::npos ? close : message.find('"', close + 1);
  }
  if (open == std::string::npos) return {};
  const std::size_t close = message.find('"', open + 1);
  return message.substr(open + 1, close == std::string::npos ? close : close - open - 1);
}

// The field whose value token `at` is: `name : value`, `name : - value`.
std::string field_before(const std::vector<Token>& tokens, std::size_t at) {
  if (at > 0 && tokens[at - 1].text == "-") --at;
  if (at > 0 && tokens[at - 1].text == ":") --at;
  return at > 0 ? tokens[at - 1].text : std::string();
}

// The name of the innermost block that is still open at the end.
const Token* unclosed(const std::vector<Token>& tokens) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].text == "{" || tokens[i].text == "<") open.push_back(i);
    if ((tokens[i].text == "}" || tokens[i].text == ">") && !open.empty()) open.pop_back();
  }
  if (open.empty() || open.back() == 0) return nullptr;
  const Token& before = tokens[open.back() - 1];
  return before.text == ":" && open.back() > 1 ? &tokens[open.back() - 2] : &before;
}

// "1e3" for a whole number: the way to write it.
std::string whole_number_hint(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size() || !std::isfinite(value)) return {};
  if (value != std::floor(value) || std::abs(value) >= 9e18) return {};
  return fmt::format("write `{}`", static_cast<long long>(value));
}

std::string stand_in_for(const std::string& value, std::size_t length) {
  if (value.size() > length) return {};
  return value + std::string(length - value.size(), ' ');
}

std::string in_words(std::string message) {
  if (!message.empty() && message.back() == '.') message.pop_back();
  std::replace(message.begin(), message.end(), '"', '`');
  if (!message.empty() && message[0] >= 'A' && message[0] <= 'Z' && !(message[1] >= 'A' && message[1] <= 'Z'))
    message[0] = static_cast<char>(message[0] - 'A' + 'a');
  return message;
}

// Where the parser stopped, and what stands there.
struct Stop {
  std::vector<Token> tokens;  // to there
  std::size_t at = 0;         // the token in question; their number at the end of the text
  bool at_token = false;      // at the end of the text the parser stands on no token
  bool before_name = false;   // what follows is a name: a value was forgotten
  std::string value, field;
  const FieldType* type = nullptr;  // of the field; null: not known

  bool ended() const { return at == tokens.size(); }
  bool lacks_value() const { return before_name || value == "}" || ended(); }
  // Not in place of a brace, or of the name that follows a forgotten value.
  bool may_stand_in() const { return !ended() && tokens[at].type != pb::io::Tokenizer::TYPE_SYMBOL && !before_name; }
  bool is_flag() const { return type && type->kind == FieldKind::kFlag; }
};

// `takes_value`: the parser has taken the value that it complains of.
Stop stop_of(std::size_t stop, bool takes_value, const std::string& text, const TextLines& lines) {
  Stop out;
  out.tokens = tokens_to(stop, text, lines);
  out.at_token = !out.tokens.empty() && out.tokens.back().begin == stop;
  out.at = out.at_token ? out.tokens.size() - 1 : out.tokens.size();
  if (takes_value && out.at > 0) --out.at;
  std::size_t end = std::min(stop + 1, text.size());
  if (!out.ended()) {
    end = out.tokens[out.at].end;
    out.value = out.tokens[out.at].text;
    out.field = field_before(out.tokens, out.at);
  }
  out.type = schema().find_field(out.field);
  const std::size_t next = text.find_first_not_of(" \t\r\n", end);
  out.before_name = next != std::string::npos && (text[next] == ':' || text[next] == '{');
  return out;
}

void wrong_choice(const Stop& stop, Mistake& mistake) {
  mistake.message = fmt::format("`{}` is not a value of `{}`", stop.value, stop.field);
  if (!stop.type || !stop.type->choices) return;
  const std::vector<std::string>& values = stop.type->choices->values;
  mistake.label = name_list(values);
  std::string bare = stop.value;
  std::erase_if(bare, [](char c) { return c == '"' || c == '\''; });
  const std::string meant = base::closest(bare, values);
  mistake.hint = bare != stop.value && meant == bare ? fmt::format("write it without quotes: `{}`", bare)
                                                     : base::did_you_mean(meant);
}

void wrong_flag(const Stop& stop, Mistake& mistake) {
  mistake.message = fmt::format("`{}` is neither true nor false", stop.value);
  mistake.hint = "write `true` or `false`";
}

}  // namespace

Mistake understand(const ParserMessage& error, const std::string& text, const TextLines& lines) {
  Mistake mistake;
  const auto says = [&](std::string_view words) { return error.text.find(words) != std::string::npos; };
  mistake.begin = error.line < 0 ? text.size() : lines.offset(error.line, error.column);
  mistake.end = std::min(mistake.begin + 1, text.size());
  const bool takes_value = says("Unknown enumeration value") || says("Invalid value for boolean");
  const Stop stop = stop_of(mistake.begin, takes_value, text, lines);
  if (!stop.ended()) {
    mistake.begin = stop.tokens[stop.at].begin;
    mistake.end = stop.tokens[stop.at].end;
  }
  const std::size_t length = mistake.end - mistake.begin;
  const bool whole = says("Expected integer");

  if (says("Unknown enumeration value") ||
      (stop.type && stop.type->choices && says("Expected integer or identifier"))) {
    mistake.is_value = true;
    wrong_choice(stop, mistake);
    mistake.stand_in = stand_in_for("0", length);
  } else if (says("Integer out of range") || says("Invalid value for boolean")) {
    mistake.is_value = true;
    if (stop.is_flag() || says("Invalid value for boolean"))
      wrong_flag(stop, mistake);
    else
      mistake.message = fmt::format("`{}` of `{}` does not fit a whole number of 64 bits", stop.value, stop.field);
    mistake.stand_in = stand_in_for("0", length);
  } else if (stop.lacks_value() && stop.type && !stop.type->block && says("Expected") && says("got")) {
    mistake.message = fmt::format("`{}` has no value", stop.field);
  } else if (says("Expected integer, got") || says("Expected double, got") || says("Expect a decimal number") ||
             says("Invalid float number")) {
    mistake.is_value = true;
    if (stop.is_flag()) {
      wrong_flag(stop, mistake);
    } else {
      mistake.message =
          fmt::format("`{}` takes a {}, not `{}`", stop.field, whole ? "whole number" : "number", stop.value);
      if (whole) mistake.hint = whole_number_hint(stop.value);
    }
    if (stop.may_stand_in()) mistake.stand_in = stand_in_for("0", length);
  } else if (says("Expected string, got")) {
    mistake.is_value = true;
    mistake.message = fmt::format("`{}` takes a text in quotes, not `{}`", stop.field, stop.value);
    mistake.hint = fmt::format("write `{}: \"{}\"`", stop.field, stop.value);
    if (stop.may_stand_in()) mistake.stand_in = stand_in_for("\"\"", length);
  } else if (stop.type && stop.type->block && says("Expected \"{\"")) {
    mistake.message = fmt::format("`{}` is a block, not a value", stop.field);
    mistake.hint = fmt::format("write `{} {{ ... }}`", stop.field);
  } else if (const Token* open = stop.at_token ? nullptr : unclosed(stop.tokens)) {
    mistake.begin = open->begin;
    mistake.end = open->end;
    mistake.message = fmt::format("the block `{}` is never closed", open->text);
    mistake.hint = "a closing brace is missing";
  } else {
    mistake.message = "not a text-format protocol buffer: " + in_words(error.text);
    if (says("Expected \":\"") && stop.at > 0 && !stop.ended()) {
      const FieldType* before = schema().find_field(stop.tokens[stop.at - 1].text);
      if (before && !before->block)
        mistake.hint = fmt::format("a value follows its name after a colon: `{}: ...`", before->name);
    }
  }
  return mistake;
}

UnknownField understand_warning(const ParserMessage& warning, const std::string& text, const TextLines& lines) {
  UnknownField unknown;
  unknown.block = quoted(warning.text, 0);
  const std::string field = quoted(warning.text, 1);
  const std::size_t stop = lines.offset(warning.line, warning.column);
  // The parser has gone past the name; only blanks and comments can stand between.
  unknown.begin = unknown.end = stop;
  const std::size_t found = field.empty() || stop == 0 ? std::string::npos : text.rfind(field, stop - 1);
  if (found != std::string::npos) {
    unknown.begin = found;
    unknown.end = found + field.size();
  }
  const BlockType* type = schema().find(unknown.block);
  unknown.message = fmt::format("`{}` is not known and not used", field);
  if (!type) return unknown;
  const std::vector<std::string> names = type->field_names();
  unknown.hint = base::did_you_mean(base::closest(field, names));
  if (!unknown.hint.empty()) return unknown;
  for (const BlockType& other : schema().blocks) {
    if (!other.find(field)) continue;
    // How the block that knows it is called in a file.
    for (const BlockType& holder : schema().blocks)
      for (const FieldType& member : holder.fields)
        if (member.block == &other && unknown.hint.empty())
          unknown.hint = fmt::format("`{}` belongs in `{} {{ ... }}`", field, member.name);
  }
  return unknown;
}

}  // namespace orrery::formats::dfmodel
