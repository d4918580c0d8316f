// The arithmetic that any string value may be: Python's expressions over names in scope.
//
//   value if condition else value      and or not      < <= > >= == !=      + - * / // % **
//   numbers, 'text', names, calls of the functions in python_arithmetic.h, parentheses
//
// A text is parsed to a small tree before it is evaluated. Both are bounded (kMaxText characters,
// kMaxDepth levels), so that no input exhausts the stack.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/formats/timeloop/expressions/expression_value.h"

namespace orrery::formats::timeloop {

// What is wrong, and the characters of the text that it concerns.
struct ExpressionError {
  std::string code;
  std::string message;
  std::size_t offset = 0;
  std::size_t length = 1;
  std::string name;  // with O0201 and O0202: the name that is not known
};

// The name under which expressions look for an attribute of another component, `buf.attributes["depth"]`.
std::string attribute_name(std::string_view component, std::string_view key);

class Expression {
 public:
  struct Tree;

  // Value of a name; nothing when it has none. May throw (evaluation stops there).
  using Lookup = std::function<std::optional<Value>(std::string_view name)>;

  // Throws ExpressionError (O0200: no expression, O0208: too long or too deep).
  static Expression parse(std::string_view text);

  // Throws ExpressionError.
  Value evaluate(const Lookup& lookup) const;

  // The whole text is one name.
  bool is_name() const;
  // Names it reads, functions not included.
  const std::vector<std::string>& names() const { return names_; }
  // It calls a function that exists.
  bool calls() const { return calls_; }

 private:
  std::shared_ptr<const Tree> tree_;
  std::vector<std::string> names_;
  bool calls_ = false;
};

}  // namespace orrery::formats::timeloop
