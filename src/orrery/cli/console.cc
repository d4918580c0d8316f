#include "orrery/cli/console.h"

#include "orrery/report/diagnostic_text.h"

namespace orrery::cli {

void report(const Console& console, const std::vector<base::Diagnostic>& diagnostics) {
  report::DiagnosticStyle style;
  style.colour = console.colour;
  style.hide_warnings = console.quiet;
  console.err << report::diagnostics_text(diagnostics, style) << std::flush;
}

}  // namespace orrery::cli
