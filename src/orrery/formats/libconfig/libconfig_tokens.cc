// One pass over the text. The limits keep libconfig's own cost small: it looks through a group's names whenever it adds
// one, and its parser and its tree nest as deep as the text.
#include "orrery/formats/libconfig/libconfig_tokens.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

namespace orrery::formats::libconfig {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::size_t kMostDepth = 200;
constexpr std::size_t kMostNames = 4096;  // of one group

class Scanner {
 public:
  Scanner(const std::shared_ptr<const base::SourceFile>& file, base::Diagnostics& found)
      : file_(file), text_(file->text), found_(found) {}

  std::vector<Token> scan() {
    if (text_.size() > kMostBytes) {
      found_.error("O0101", fmt::format("a libconfig text may have {} bytes at most", kMostBytes), {file_, 0, 0, 1})
          .note(fmt::format("this one has {}", text_.size()));
      return {};
    }
    if (const std::size_t at = text_.find("@include"); at != std::string_view::npos) {
      move_to(at);
      found_.error("O0101", "libconfig's `@include` is not followed", here(8))
          .hint("give the included file on the command line, too, and remove this, also from comments");
      return {};
    }
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
    while (found_.all().empty()) {
      skip_blanks();
      if (!found_.all().empty() || at_ >= text_.size()) break;
      one();
    }
    return std::move(tokens_);
  }

 private:
  void move_to(std::size_t end) {
    for (; at_ < end && at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') {
        ++line_;
        column_ = 1;
      } else if ((static_cast<unsigned char>(text_[at_]) & 0xC0) != 0x80) {  // columns are characters, not bytes
        ++column_;
      }
    }
  }
  base::Location here(std::size_t length) const { return {file_, line_, column_, static_cast<int>(length)}; }
  bool starts(std::string_view text) const { return text_.substr(at_, text.size()) == text; }

  void skip_blanks() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
        move_to(at_ + 1);
      } else if (text_[at_] == '#' || starts("//")) {
        move_to(std::min(text_.find('\n', at_), text_.size()));
      } else if (starts("/*")) {
        const std::size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) {
          found_.error("O0101", "this comment has no end", here(2)).hint("write `*/` where it ends");
          return;
        }
        move_to(end + 2);
      } else {
        return;
      }
    }
  }

  void one() {
    const char c = text_[at_];
    if (c == '"') return quoted();
    if (std::string_view("{}()[]=:;,").find(c) != std::string_view::npos) {
      nest(c);
      return add(Token::Kind::kMark, 1);
    }
    const std::size_t end = word_end();
    if (end > at_) return add(Token::Kind::kWord, end - at_);
    found_.error("O0101", fmt::format("`{}` has no place in libconfig's texts", character()), here(1))
        .hint("settings are written `name = value;`; where this is YAML, let the file's name end in `.yaml`");
  }

  std::size_t word_end() const {
    std::size_t end = at_;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) ||
                                  std::string_view("_-+*.").find(text_[end]) != std::string_view::npos))
      ++end;
    return end;
  }
  std::string character() const {
    std::size_t end = at_ + 1;
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0) == 0x80) ++end;
    return std::string(text_.substr(at_, end - at_));
  }

  void add(Token::Kind kind, std::size_t length) {
    tokens_.push_back({kind, std::string(text_.substr(at_, length)), here(length)});
    move_to(at_ + length);
  }

  void quoted() {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) {
      found_.error("O0101", "this text has no closing quote", here(1));
      return;
    }
    const base::Location where = here(1);
    move_to(end + 1);
    tokens_.push_back({Token::Kind::kText, "", where});
    if (where.line == line_) tokens_.back().where.length = column_ - where.column;
  }

  void nest(char c) {
    if (c == '{' || c == '(' || c == '[') {
      names_.push_back(0);
      if (names_.size() > kMostDepth)
        found_.error("O0101", fmt::format("nested deeper than {} levels", kMostDepth), here(1));
    } else if ((c == '}' || c == ')' || c == ']') && names_.size() > 1) {
      names_.pop_back();
    } else if ((c == '=' || c == ':') && ++names_.back() > kMostNames) {
      found_.error("O0101", fmt::format("a group has more than {} names", kMostNames), here(1));
    }
  }

  const std::shared_ptr<const base::SourceFile>& file_;
  std::string_view text_;
  base::Diagnostics& found_;
  std::vector<Token> tokens_;
  std::vector<std::size_t> names_{0};  // so far, of each group that is open
  std::size_t at_ = 0;
  int line_ = 1, column_ = 1;
};

}  // namespace

std::vector<Token> tokens_of(const std::shared_ptr<const base::SourceFile>& file, base::Diagnostics& found) {
  base::Diagnostics own;
  std::vector<Token> tokens = Scanner(file, own).scan();
  found.append(own);
  return own.has_errors() ? std::vector<Token>() : tokens;
}

}  // namespace orrery::formats::libconfig
