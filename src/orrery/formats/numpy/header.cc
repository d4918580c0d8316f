// Grammar: { 'descr': TEXT, 'fortran_order': True|False, 'shape': (N, N, ...) } in any order, blanks anywhere, commas
// before closing brackets allowed. Nothing is evaluated. Source: numpy.lib.format (NEP 1). Linear in the text.
#include "orrery/formats/numpy/header.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace orrery::formats::numpy {
namespace {

using base::Count;

class Parser {
 public:
  Parser(const std::string& name, std::string_view text)
      : file_(std::make_shared<const base::SourceFile>(
            base::SourceFile{fmt::format("<header of {}>", name), std::string(text)})),
        text_(file_->text) {}

  Header run() {
    Header header;
    bool descr = false, order = false, shape = false;
    take('{');
    while (!peek('}')) {
      const std::size_t begin = at_;
      const std::string key = quoted();
      take(':');
      blanks();
      const std::size_t value = at_;
      if (key == "descr" && !descr) {
        descr = true;
        if (at_ < text_.size() && text_[at_] == '[')
          refuse(at_, 1, "records of several fields", "save each field as an array of its own");
        header.descr = quoted();
        header.descr_where = place(value, at_ - value);
      } else if (key == "fortran_order" && !order) {
        order = true;
        header.fortran = truth();
      } else if (key == "shape" && !shape) {
        shape = true;
        header.shape = sizes();
        header.shape_where = place(value, at_ - value);
      } else {
        refuse(begin, at_ - begin, fmt::format("the key `{}`, which does not belong here or stands twice", key),
               "a header has descr, fortran_order and shape, once each");
      }
      if (!peek('}')) take(',');
    }
    take('}');
    blanks();
    if (at_ != text_.size()) refuse(at_, 1, "text behind the closing brace", "save the array again");
    if (!descr || !order || !shape)
      refuse(0, 1,
             fmt::format("no `{}`", !descr   ? "descr"
                                    : !order ? "fortran_order"
                                             : "shape"),
             "a header has descr, fortran_order and shape, once each");
    return header;
  }

 private:
  base::Location place(std::size_t begin, std::size_t length) const {
    return {file_, 1, static_cast<int>(begin) + 1, static_cast<int>(std::max<std::size_t>(length, 1))};
  }
  [[noreturn]] void refuse(std::size_t begin, std::size_t length, const std::string& what,
                           const std::string& hint) const {
    base::fail("O1801", fmt::format("the header of the .npy file has {}", what),
               place(std::min(begin, text_.empty() ? 0 : text_.size() - 1), length), hint);
  }
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool peek(char wanted) {
    blanks();
    return at_ < text_.size() && text_[at_] == wanted;
  }
  void take(char wanted) {
    if (!peek(wanted)) refuse(at_, 1, fmt::format("no `{}` where one is expected", wanted), "save the array again");
    ++at_;
  }
  std::string quoted() {
    blanks();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"')
      refuse(at_, 1, "no text in quotes where one is expected", "save the array again");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) refuse(at_, 1, "a text without its closing quote", "save the array again");
    const std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }
  bool truth() {
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}})
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    refuse(at_, 1, "neither True nor False for fortran_order", "save the array again");
  }
  std::vector<Count> sizes() {
    std::vector<Count> out;
    take('(');
    while (!peek(')')) {
      const std::size_t begin = at_;
      Count size = 0;
      while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
        const Count digit = text_[at_++] - '0';
        if (__builtin_mul_overflow(size, 10, &size) || __builtin_add_overflow(size, digit, &size))
          refuse(begin, at_ - begin, "a size that exceeds 64 bits", "save the array again");
      }
      if (at_ == begin) refuse(at_, 1, "no whole number where a size is expected", "save the array again");
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long numbers so
      out.push_back(size);
      if (out.size() > kMostDimensions) refuse(begin, 1, "more than 32 dimensions", "NumPy itself allows 32");
      if (!peek(')')) take(',');
    }
    take(')');
    return out;
  }

  std::shared_ptr<const base::SourceFile> file_;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Header parse_header(const std::string& name, std::string_view text) {
  return Parser(name, text).run();
}

}  // namespace orrery::formats::numpy
