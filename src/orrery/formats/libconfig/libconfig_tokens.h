// The words of a libconfig text with their places. Comments are left out.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::formats::libconfig {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // may stand before a text

struct Token {
  enum class Kind { kWord, kText, kMark };  // a name, number or truth value; a quoted text; one of {}()[]=:;,
  Kind kind = Kind::kMark;
  std::string text;  // of a quoted text, nothing: libconfig resolves its escapes
  base::Location where;

  bool is(char mark) const { return kind == Kind::kMark && text[0] == mark; }
};

// What libconfig would not bear, or not in good time, is refused here: O0101 in `found`.
std::vector<Token> tokens_of(const std::shared_ptr<const base::SourceFile>& file, base::Diagnostics& found);

}  // namespace orrery::formats::libconfig
