#include "orrery/cli/console.h"

#include "orrery/cli/version.h"
#include "orrery/report/diagnostic_text.h"
#include "orrery/report/error_json.h"

namespace orrery::cli {

void report(const Console& console, const std::vector<base::Diagnostic>& diagnostics) {
  report::DiagnosticStyle style;
  style.colour = console.colour;
  style.hide_warnings = console.quiet;
  console.err << report::diagnostics_text(base::in_reading_order(diagnostics), style) << std::flush;
}

void refuse(const Console& console, const std::vector<base::Diagnostic>& diagnostics) {
  if (console.json) console.out << report::error_json(kVersion, base::in_reading_order(diagnostics)) << std::flush;
  report(console, diagnostics);
}

}  // namespace orrery::cli
