// A diagnostic as a person reads it: severity and code, place, source line with carets, facts, ways out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::verbs {

struct DiagnosticStyle {
  bool colour = false;  // ANSI escapes
  bool hide_warnings = false;
  std::size_t most = 20;  // errors shown; the others are counted in one last line
};

// The column as editors show it: characters from 1, where locations count bytes; 0 for a file as a whole.
int shown_column(const base::Location& where);

// "error", "warning" or "note".
const char* severity_name(base::Severity severity);

// One diagnostic, ending in a newline. Locations count bytes; the column is printed in characters, as
// editors show it. Tabs show as four spaces.
std::string diagnostic_text(const base::Diagnostic& diagnostic, const DiagnosticStyle& style = {});

// Several, errors after warnings, each followed by an empty line; the same one twice is shown once, and warnings that
// are alike as one (alike.h).
std::string diagnostics_text(const std::vector<base::Diagnostic>& diagnostics, const DiagnosticStyle& style = {});

// Lines for a terminal: control characters other than tabs and line ends, which a foreign file's names may hold, and
// bytes that are no UTF-8 show as `?`.
std::string printable_text(std::string_view text);

}  // namespace orrery::verbs
