// Python's arithmetic on the values of Timeloop documents.
//
// Whole numbers stay exact as Python's do, in 64 bits: what does not fit is an error, never a rounded
// number. `//` and `%` floor, `/` gives a real number, `**` of whole numbers with a negative exponent
// too. Booleans count as 0 and 1.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "orrery/formats/timeloop/expressions/expression_value.h"

namespace orrery::formats::timeloop::python {

// What Python would raise; `code` is one of O0202, O0204, O0206, O0207, O0208.
struct ArithmeticError {
  std::string code;
  std::string message;
};

// `op`: + - * / // % ** == != < <= > >=. Throws ArithmeticError.
Value binary(std::string_view op, const Value& a, const Value& b);
// `op`: + -. Throws ArithmeticError.
Value unary(std::string_view op, const Value& a);
// ceil floor log log2 log10 sqrt exp pow min max abs round int float str. Throws ArithmeticError.
Value call(std::string_view function, std::span<const Value> arguments);
bool is_function(std::string_view name);

// pi, e, tau, inf, True, False, None; nothing for other names.
std::optional<Value> constant(std::string_view name);

bool truth(const Value& a);
// As a message shows it: 16, 0.5, "LPDDR4", true, null.
std::string describe(const Value& a);

}  // namespace orrery::formats::timeloop::python
