#include "orrery/cli/console.h"

#include "orrery/present/diagnostic_text.h"
#include "orrery/present/error_json.h"
#include "orrery/present/table_form.h"

namespace orrery::verbs {

void print(const Console& console, const std::string& text) {
  console.out << verbs::printable_text(table_form() == TableForm::kText ? text : only_tables(text));
}

void report(const Console& console, const std::vector<base::Diagnostic>& diagnostics) {
  DiagnosticStyle style;
  style.colour = console.colour;
  style.hide_warnings = console.quiet;
  console.err << verbs::diagnostics_text(base::in_reading_order(diagnostics), style) << std::flush;
}

void refuse(const Console& console, const std::vector<base::Diagnostic>& diagnostics) {
  if (console.json)
    console.out << verbs::error_document().json(base::in_reading_order(diagnostics), 0, console.command) << std::flush;
  report(console, diagnostics);
}

}  // namespace orrery::verbs
