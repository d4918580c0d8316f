// The tree of a template: text between statements, and the expressions of both.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/timeloop/templates/template_value.h"

namespace orrery::formats::timeloop::jinja {

// An expression. `parts` are its operands; of a call, a filter and a test the first is what it is applied to, and the
// last `keywords.size()` are the arguments that are named.
struct TemplateExpression {
  enum class Kind { kLiteral, kName, kList, kMap, kUnary, kBinary, kCall, kFilter, kTest, kAttribute, kItem, kChoice };

  Kind kind = Kind::kLiteral;
  base::Location where;
  std::string name;  // a name, an operator, a filter, a test, an attribute
  TemplateValue value;
  std::vector<TemplateExpression> parts;
  std::vector<std::string> keywords;
  bool negated = false;  // `is not`
};

struct Statement {
  enum class Kind { kText, kPrint, kIf, kFor, kSet, kSetBlock, kMacro, kAssert };

  Kind kind = Kind::kText;
  base::Location where;
  std::string_view text;           // of kText: within the file
  std::vector<std::string> names;  // the loop's or the set's variables; a macro's name and its parameters
  // kPrint, kSet: the value. kIf: the conditions. kFor: what is gone through, and the filter, if any. kAssert: the
  // condition, and what is said where it does not hold, if anything.
  // kMacro: defaults of the last parameters.
  std::vector<TemplateExpression> expressions;
  // kIf: a body for each condition, and that of `else`, if any. kFor: the body and that of `else`.
  std::vector<std::vector<Statement>> bodies;
};

// A template owns the text that its statements point into.
struct Template {
  std::shared_ptr<const base::SourceFile> file;
  std::vector<Statement> body;
};

// Throws InputError (O0113) with the first thing that is wrong.
Template parse_template(std::shared_ptr<const base::SourceFile> file);

}  // namespace orrery::formats::timeloop::jinja
