// libconfig++ says whether the text is in its form, and what tree it makes. Its settings know their line but no column,
// and its numbers wrap silently beyond 32 bits; so the tree is walked along the text's words (libconfig_tokens.h), in
// step, and places and numbers are taken from these. Cost: linear in the text, but for libconfig's search of a group's
// names.
#include "orrery/formats/libconfig/libconfig_document.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include <libconfig.h++>

#include "orrery/formats/libconfig/libconfig_tokens.h"

namespace orrery::formats::libconfig {
namespace {

// Thrown where tree and words part; becomes O0101.
struct OutOfStep {
  base::Location where;
};

// As YAML writes it: `0x10` -> 16, `+5` and `05` -> 5, `7L` -> 7.
std::string whole_number(std::string text) {
  while (!text.empty() && (text.back() == 'L' || text.back() == 'l')) text.pop_back();
  const bool negative = text[0] == '-';
  std::string_view digits = text;
  if (negative || text[0] == '+') digits.remove_prefix(1);
  if (digits.size() > 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
    unsigned long long value = 0;
    const auto [end, failure] = std::from_chars(digits.data() + 2, digits.data() + digits.size(), value, 16);
    if (failure == std::errc() && end == digits.data() + digits.size())
      return (negative ? "-" : "") + std::to_string(value);
    return text;
  }
  while (digits.size() > 1 && digits[0] == '0') digits.remove_prefix(1);
  return (negative ? "-" : "") + std::string(digits);
}

class Walk {
 public:
  explicit Walk(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  yaml::Node root(const ::libconfig::Setting& settings, const base::Location& where) {
    yaml::Node node;
    node.kind = yaml::Node::Kind::kMap;
    node.where = where;
    members(settings, node);
    if (at_ != tokens_.size()) throw OutOfStep{tokens_[at_].where};
    return node;
  }

 private:
  const Token& next() {
    if (at_ >= tokens_.size()) throw OutOfStep{tokens_.empty() ? base::Location() : tokens_.back().where};
    return tokens_[at_++];
  }
  const Token& mark(char expected) {
    const Token& token = next();
    if (!token.is(expected)) throw OutOfStep{token.where};
    return token;
  }
  void skip(std::string_view marks) {
    if (at_ < tokens_.size() && tokens_[at_].kind == Token::Kind::kMark &&
        marks.find(tokens_[at_].text[0]) != std::string_view::npos)
      ++at_;
  }

  void members(const ::libconfig::Setting& group, yaml::Node& node) {
    const int length = group.getLength();
    for (int i = 0; i < length; ++i) {
      const ::libconfig::Setting& member = group[i];
      const Token& name = next();
      if (name.kind != Token::Kind::kWord || name.text != member.getName()) throw OutOfStep{name.where};
      const base::Location where = name.where;
      const Token& sign = next();
      if (!sign.is('=') && !sign.is(':')) throw OutOfStep{sign.where};
      node.entries.push_back({name.text, where, value(member)});
      skip(";,");
    }
  }

  yaml::Node value(const ::libconfig::Setting& setting) {
    using ::libconfig::Setting;
    yaml::Node node;
    switch (setting.getType()) {
      case Setting::TypeGroup:
        node.kind = yaml::Node::Kind::kMap;
        node.where = mark('{').where;
        members(setting, node);
        mark('}');
        return node;
      case Setting::TypeList:
      case Setting::TypeArray: {
        const bool list = setting.getType() == Setting::TypeList;
        node.kind = yaml::Node::Kind::kSequence;
        node.where = mark(list ? '(' : '[').where;
        const int length = setting.getLength();
        for (int i = 0; i < length; ++i) {
          node.items.push_back(value(setting[i]));
          skip(",");
        }
        mark(list ? ')' : ']');
        return node;
      }
      case Setting::TypeString:
        return text(setting);
      default:
        return scalar(setting);
    }
  }

  // Texts side by side are one.
  yaml::Node text(const ::libconfig::Setting& setting) {
    yaml::Node node;
    node.kind = yaml::Node::Kind::kScalar;
    node.quoted = true;
    const Token& first = next();
    if (first.kind != Token::Kind::kText) throw OutOfStep{first.where};
    node.where = first.where;
    while (at_ < tokens_.size() && tokens_[at_].kind == Token::Kind::kText) ++at_;
    node.scalar = setting.c_str();
    return node;
  }

  yaml::Node scalar(const ::libconfig::Setting& setting) {
    using ::libconfig::Setting;
    yaml::Node node;
    node.kind = yaml::Node::Kind::kScalar;
    const Token& token = next();
    if (token.kind != Token::Kind::kWord) throw OutOfStep{token.where};
    node.where = token.where;
    switch (setting.getType()) {
      case Setting::TypeBoolean:
        node.scalar = static_cast<bool>(setting) ? "true" : "false";
        break;
      case Setting::TypeInt:
      case Setting::TypeInt64:
        node.scalar = whole_number(token.text);
        break;
      default:
        node.scalar = token.text;
    }
    return node;
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

// The first word of a line, where libconfig stopped.
base::Location first_of_line(const std::vector<Token>& tokens, const std::shared_ptr<const base::SourceFile>& file,
                             int line) {
  for (const Token& token : tokens)
    if (token.where.line == line) return token.where;
  return {file, line, 0, 1};
}

}  // namespace

bool is_libconfig(const base::SourceFile& file) {
  return file.name.ends_with(".cfg");
}

std::optional<yaml::Node> parse(const std::shared_ptr<const base::SourceFile>& file, base::Diagnostics& found) {
  base::Diagnostics own;
  std::vector<Token> tokens = tokens_of(file, own);
  found.append(own);
  if (own.has_errors()) return std::nullopt;
  ::libconfig::Config config;
  try {
    // The mark that some editors write before a text is none of libconfig's.
    config.readString(file->text.starts_with(kByteOrderMark) ? file->text.substr(kByteOrderMark.size()) : file->text);
    return Walk(tokens).root(config.getRoot(), {file, 1, 1, 1});
  } catch (const ::libconfig::ParseException& error) {
    const std::string what = error.getError();
    found
        .error("O0101", "this is not libconfig: " + (what.empty() ? std::string("it cannot be read") : what),
               first_of_line(tokens, file, error.getLine()))
        .hint("settings are written `name = value;`, groups { }, lists ( ), arrays of one kind [ ]")
        .hint("where the file is YAML, let its name end in `.yaml`");
  } catch (const OutOfStep& step) {
    found.error("O0101", "libconfig reads this in another way than it is written", step.where)
        .hint("write it as YAML, `key: value` in place of `key = value;`");
  }
  return std::nullopt;
}

}  // namespace orrery::formats::libconfig
