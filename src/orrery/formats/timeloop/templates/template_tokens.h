// A template's text to tokens: text as it stands, and what is between {{ }} and {% %}.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::formats::timeloop::jinja {

struct Token {
  enum class Kind { kText, kPrint, kStatement, kClose, kName, kNumber, kString, kSign, kEnd };

  Kind kind = Kind::kEnd;
  std::string_view raw;  // as it stands in the file
  std::string text;      // of a string: without quotes and escapes
  base::Location where;

  bool is(std::string_view sign) const { return kind == Kind::kSign && raw == sign; }
  bool is_name(std::string_view name) const { return kind == Kind::kName && raw == name; }
};

// Comments are left out, `{% raw %}` is text, and `{{-`, `-}}` and their kin take the blanks beside them away.
// The last token is kEnd. Throws InputError (O0113).
std::vector<Token> template_tokens(const std::shared_ptr<const base::SourceFile>& file);

}  // namespace orrery::formats::timeloop::jinja
