// Jinja's templates, as far as Timeloop's documents use them.
//
//   {{ expression }}   {% set %} {% if %} {% for %} {% macro %} {% include %} {% raw %}   {# comment #}
//   {% assert %}       of AccelForge
//
// Why not a library: Debian 12 has no C++ library for Jinja, and none that exists elsewhere keeps the places that
// messages point to, or bounds what a template may take. What is not read is refused by name, never passed over.
//
// Idea: a tree of statements (template_syntax.h) is walked once, its values are those of documents (template_value.h),
// and each piece of the text that goes out remembers where it stood (placed_text.h). Every step is paid from a budget
// (template_budget.h), so cost is bounded whatever the template says.
//
// Source: the Jinja documentation, 3.1, "Template Designer Documentation"; undefined names are errors, as Accelergy
// renders (StrictUndefined).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/formats/timeloop/templates/placed_text.h"
#include "orrery/formats/timeloop/templates/template_budget.h"
#include "orrery/formats/timeloop/templates/template_operations.h"
#include "orrery/formats/timeloop/templates/template_syntax.h"

namespace orrery::formats::timeloop::jinja {

using Variables = std::map<std::string, TemplateValue, std::less<>>;

// What stands around a template: functions that reach files.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  // The value of a call of one of `functions` where `known` are the template's variables. Throws InputError.
  virtual TemplateValue call(std::string_view function, const TemplateArguments& arguments, const base::Location& where,
                             const Variables& known) = 0;
  virtual std::vector<std::string> functions() const = 0;
};

// Throws InputError: O0113 for what cannot be evaluated, O2026 where the budget ends.
PlacedText render(const Template& parsed, const Variables& variables, Surroundings& around, Budget& budget);

}  // namespace orrery::formats::timeloop::jinja
