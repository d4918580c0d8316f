#include "orrery/formats/timeloop/templates/template_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace orrery::formats::timeloop::jinja {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

class Tokens {
 public:
  explicit Tokens(const std::shared_ptr<const base::SourceFile>& file) : file_(file), text_(file->text) {
    lines_.push_back(0);
    for (std::size_t i = 0; i < text_.size(); ++i)
      if (text_[i] == '\n') lines_.push_back(i + 1);
    // Jinja takes one line end from the end of a template.
    if (text_.ends_with('\n')) text_.remove_suffix(1);
    if (text_.ends_with('\r')) text_.remove_suffix(1);
  }

  std::vector<Token> all() {
    while (at_ < text_.size()) {
      const std::size_t open = find_opening(at_);
      add_text(at_, open);
      if (open == text_.size()) break;
      at_ = open;
      const std::string_view mark = text_.substr(at_, 2);
      if (mark == "{#") {
        pass_comment();
      } else if (mark == "{%" && pass_raw()) {
      } else {
        inside(mark == "{{");
      }
    }
    add(Token::Kind::kEnd, text_.size(), text_.size());
    return std::move(tokens_);
  }

 private:
  base::Location place(std::size_t offset, std::size_t length) const {
    const auto after = std::upper_bound(lines_.begin(), lines_.end(), offset);
    const auto line = static_cast<std::size_t>(after - lines_.begin());
    const std::size_t end = line < lines_.size() ? lines_[line] - 1 : file_->text.size();
    const std::size_t shown = std::min(length, end > offset ? end - offset : 1);
    return {file_, static_cast<int>(line), static_cast<int>(offset - lines_[line - 1]) + 1,
            std::max(1, static_cast<int>(shown))};
  }
  Token& add(Token::Kind kind, std::size_t begin, std::size_t end) {
    tokens_.push_back({kind, text_.substr(std::min(begin, text_.size()), end - begin), {}, place(begin, end - begin)});
    return tokens_.back();
  }
  std::size_t find_opening(std::size_t from) const {
    for (std::size_t i = text_.find('{', from); i != std::string_view::npos; i = text_.find('{', i + 1)) {
      if (i + 1 < text_.size() && (text_[i + 1] == '{' || text_[i + 1] == '%' || text_[i + 1] == '#')) return i;
    }
    return text_.size();
  }
  void add_text(std::size_t begin, std::size_t end) {
    if (strip_) begin = std::min(text_.find_first_not_of(kBlanks, begin), text_.size());
    if (begin >= end) return;
    strip_ = false;
    const bool next_strips = end + 2 < text_.size() && text_[end + 2] == '-';
    if (next_strips) {
      const std::size_t last = text_.substr(begin, end - begin).find_last_not_of(kBlanks);
      if (last == std::string_view::npos) return;
      end = begin + last + 1;
    }
    add(Token::Kind::kText, begin, end);
  }
  void pass_comment() {
    const std::size_t end = text_.find("#}", at_ + 2);
    if (end == std::string_view::npos) never_closed("{#", "#}");
    strip_ = text_[end - 1] == '-';
    at_ = end + 2;
  }
  // `{% raw %}...{% endraw %}`: the text between.
  bool pass_raw() {
    const auto is_word = [&](std::size_t at, std::string_view word, std::size_t& after) {
      at += 2;
      if (at < text_.size() && (text_[at] == '-' || text_[at] == '+')) ++at;
      at = std::min(text_.find_first_not_of(kBlanks, at), text_.size());
      if (text_.substr(at, word.size()) != word) return false;
      at = std::min(text_.find_first_not_of(kBlanks, at + word.size()), text_.size());
      if (at < text_.size() && text_[at] == '-') ++at;
      if (text_.substr(at, 2) != "%}") return false;
      after = at + 2;
      return true;
    };
    std::size_t begin = 0;
    if (!is_word(at_, "raw", begin)) return false;
    for (std::size_t end = text_.find("{%", begin); end != std::string_view::npos; end = text_.find("{%", end + 2)) {
      std::size_t after = 0;
      if (!is_word(end, "endraw", after)) continue;
      add(Token::Kind::kText, begin, end);
      at_ = after;
      return true;
    }
    never_closed("{% raw %}", "{% endraw %}");
  }
  [[noreturn]] void never_closed(std::string_view mark, std::string_view closing) const {
    base::fail("O0113", fmt::format("`{}` is never closed by `{}`", mark, closing), place(at_, 2));
  }

  void inside(bool print) {
    const std::size_t start = at_;
    strip_ = false;
    Token& open = add(print ? Token::Kind::kPrint : Token::Kind::kStatement, at_, at_ + 2);
    const std::string_view closing = print ? "}}" : "%}";
    const std::size_t opened = tokens_.size() - 1;
    static_cast<void>(open);
    at_ += 2;
    if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) ++at_;
    int nesting = 0;
    for (;;) {
      at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size());
      if (at_ == text_.size()) {
        at_ = start;
        never_closed(print ? "{{" : "{%", closing);
      }
      const bool dash = text_[at_] == '-' || text_[at_] == '+';
      if (nesting == 0 && text_.substr(at_ + (dash ? 1 : 0), 2) == closing) {
        strip_ = text_[at_] == '-';
        add(Token::Kind::kClose, at_, at_ + (dash ? 3 : 2));
        at_ += dash ? 3 : 2;
        // A whole {{ ... }} on one line is shown as such.
        if (print) tokens_[opened].where = place(start, at_ - start);
        return;
      }
      one(nesting, start, print ? "{{" : "{%", closing);
    }
  }
  void one(int& nesting, std::size_t start, std::string_view mark, std::string_view closing) {
    const char c = text_[at_];
    std::size_t end = at_ + 1;
    if (begins_name(c)) {
      while (end < text_.size() && (begins_name(text_[end]) || is_digit(text_[end]))) ++end;
      add(Token::Kind::kName, at_, end);
    } else if (is_digit(c)) {
      const auto more = [&](std::size_t i) {
        const char d = text_[i];
        const bool sign = (d == '+' || d == '-') && (text_[i - 1] == 'e' || text_[i - 1] == 'E');
        return is_digit(d) || d == '_' || d == 'e' || d == 'E' || sign ||
               (d == '.' && i + 1 < text_.size() && is_digit(text_[i + 1]));
      };
      while (end < text_.size() && more(end)) ++end;
      add(Token::Kind::kNumber, at_, end);
    } else if (c == '\'' || c == '"') {
      end = string(start, mark, closing);
    } else {
      constexpr std::array<std::string_view, 6> kTwo = {"**", "//", "==", "!=", "<=", ">="};
      const std::string_view two = text_.substr(at_, 2);
      if (std::find(kTwo.begin(), kTwo.end(), two) != kTwo.end()) {
        end = at_ + 2;
      } else if (std::string_view("+-*/%~()[]{}.,:|=<>").find(c) == std::string_view::npos) {
        base::fail("O0113", fmt::format("`{}` is not a sign of Jinja's expressions", text_.substr(at_, 1)),
                   place(at_, 1));
      }
      nesting += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
      add(Token::Kind::kSign, at_, end);
    }
    at_ = end;
  }
  std::size_t string(std::size_t start, std::string_view mark, std::string_view closing) {
    std::string text;
    std::size_t i = at_ + 1;
    for (; i < text_.size() && text_[i] != text_[at_]; ++i) {
      if (text_[i] != '\\' || i + 1 == text_.size()) {
        text += text_[i];
        continue;
      }
      const char next = text_[++i];
      text += next == 'n' ? '\n' : next == 't' ? '\t' : next;
      if (next != 'n' && next != 't' && next != '\\' && next != '\'' && next != '"') text.insert(text.size() - 1, "\\");
    }
    if (i == text_.size()) {
      at_ = start;
      never_closed(mark, closing);
    }
    add(Token::Kind::kString, at_, i + 1).text = std::move(text);
    return i + 1;
  }

  std::shared_ptr<const base::SourceFile> file_;
  std::string_view text_;
  std::vector<std::size_t> lines_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  bool strip_ = false;  // the text that follows loses its leading blanks
};

}  // namespace

std::vector<Token> template_tokens(const std::shared_ptr<const base::SourceFile>& file) {
  return Tokens(file).all();
}

}  // namespace orrery::formats::timeloop::jinja
