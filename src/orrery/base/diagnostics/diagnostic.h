// What Orrery says about a user's input.
//
// A stage (reading a file, building a chip, ...) collects every problem it finds in a `Diagnostics`
// and throws them together, once, as `InputError`. Nothing here prints: present/diagnostic_text.h
// draws the caret, cli/ chooses the stream.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::base {

// A text that messages can point into. `name` is what the user called it (a path, or "<--set>").
struct SourceFile {
  std::string name;
  std::string text;
};

// A position in a source text. `line` and `column` count from 1; 0 means "the file as a whole". `length` is the number
// of characters to underline on that line. Without `file`, the position is unknown.
struct Location {
  std::shared_ptr<const SourceFile> file;
  int line = 0;
  int column = 0;
  int length = 1;

  bool known() const { return file != nullptr; }
};

enum class Severity { kError, kWarning, kNote };

// A position and a remark about it; `text` is printed beside the caret.
struct Label {
  Location where;
  std::string text;
};

// One message. `code` ("O0312") has a page in catalog/errors.
struct Diagnostic {
  std::string code;
  Severity severity = Severity::kError;
  std::string message;
  Label primary;
  std::vector<Label> secondary;
  std::vector<std::string> notes;  // facts: the arithmetic, what was tried
  std::vector<std::string> hints;  // what to do: "did you mean ..."

  Diagnostic& label(std::string text) {
    primary.text = std::move(text);
    return *this;
  }
  Diagnostic& also(Location where, std::string text) {
    secondary.push_back({std::move(where), std::move(text)});
    return *this;
  }
  Diagnostic& note(std::string text) {
    notes.push_back(std::move(text));
    return *this;
  }
  // An empty text adds nothing, so that a suggestion that found no name can be handed over as it is.
  Diagnostic& hint(std::string text) {
    if (!text.empty()) hints.push_back(std::move(text));
    return *this;
  }
};

// The user's input cannot be used; carries every problem found. Exit code 2.
struct InputError : std::runtime_error {
  explicit InputError(std::vector<Diagnostic> found);
  std::vector<Diagnostic> diagnostics;
};

class Diagnostics {
 public:
  Diagnostic& error(std::string code, std::string message, Location where = {});
  Diagnostic& warning(std::string code, std::string message, Location where = {});
  Diagnostic& add(Diagnostic diagnostic);

  bool has_errors() const { return errors_ > 0; }
  const std::vector<Diagnostic>& all() const { return found_; }
  void append(const Diagnostics& other) { append(other.all()); }
  void append(const std::vector<Diagnostic>& other);

  // Throws InputError with everything collected (warnings included) when there is an error.
  void throw_if_errors() const;

 private:
  std::vector<Diagnostic> found_;
  int errors_ = 0;
};

// The order in which a reader meets them: files as they are first mentioned, within a file by line and column.
// A message without a position stays between the same neighbours.
std::vector<Diagnostic> in_reading_order(std::vector<Diagnostic> found);

// Throws InputError with one diagnostic.
[[noreturn]] void fail(std::string code, std::string message, Location where = {}, std::string hint = {});

}  // namespace orrery::base

// Compiled once, in diagnostic.cc, not in each file that copies or destroys some.
extern template class std::basic_string<char>;
extern template class std::vector<std::string>;
extern template class std::vector<orrery::base::Label>;
extern template class std::vector<orrery::base::Diagnostic>;
