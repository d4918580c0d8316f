#include "orrery/formats/timeloop/expressions/python_arithmetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/base/text/text.h"

namespace orrery::formats::timeloop::python {
namespace {

using base::Count;

constexpr std::size_t kMaxString = 4096;

[[noreturn]] void raise(std::string code, std::string message) {
  throw ArithmeticError{std::move(code), std::move(message)};
}

[[noreturn]] void raise_overflow(const std::string& what) {
  raise("O0207", what + " does not fit in 64 bits");
}

bool is_text(const Value& a) {
  return std::holds_alternative<std::string>(a);
}

bool is_whole(const Value& a) {
  return std::holds_alternative<Count>(a) || std::holds_alternative<bool>(a);
}

bool is_number(const Value& a) {
  return is_whole(a) || std::holds_alternative<double>(a);
}

Count whole(const Value& a) {
  if (const auto* flag = std::get_if<bool>(&a)) return *flag ? 1 : 0;
  return std::get<Count>(a);
}

double real(const Value& a) {
  if (const auto* number = std::get_if<double>(&a)) return *number;
  return static_cast<double>(whole(a));
}

Value finite(double result, const std::string& what) {
  if (std::isnan(result)) raise("O0206", what + " is not defined");
  return result;
}

Value to_whole(double rounded, const std::string& what) {
  const auto whole = base::whole_number(rounded);
  if (!whole) raise_overflow(what);
  return *whole;
}

Value power(const Value& a, const Value& b, const std::string& what) {
  if (is_whole(a) && is_whole(b) && whole(b) >= 0) {
    Count base = whole(a);
    Count exponent = whole(b);
    Count result = 1;
    if (base == 0 || base == 1) return exponent == 0 ? Count{1} : base;
    if (base == -1) return exponent % 2 == 0 ? Count{1} : Count{-1};
    if (exponent > 63) raise_overflow(what);
    for (; exponent > 0; --exponent) {
      if (__builtin_mul_overflow(result, base, &result)) raise_overflow(what);
    }
    return result;
  }
  const double x = real(a);
  const double y = real(b);
  if (x == 0 && y < 0) raise("O0206", what + " divides by zero");
  const double result = std::pow(x, y);
  if (std::isinf(result) && std::isfinite(x) && std::isfinite(y)) raise("O0207", what + " exceeds the real numbers");
  return finite(result, what);
}

Value whole_binary(std::string_view op, Count a, Count b, const std::string& what) {
  Count result = 0;
  if (op == "+") {
    if (__builtin_add_overflow(a, b, &result)) raise_overflow(what);
    return result;
  }
  if (op == "-") {
    if (__builtin_sub_overflow(a, b, &result)) raise_overflow(what);
    return result;
  }
  if (op == "*") {
    if (__builtin_mul_overflow(a, b, &result)) raise_overflow(what);
    return result;
  }
  if (b == 0) raise("O0206", what + " divides by zero");
  if (op == "/") return static_cast<double>(a) / static_cast<double>(b);
  if (b == -1) {
    if (op == "%") return Count{0};
    if (a == std::numeric_limits<Count>::min()) raise_overflow(what);
    return -a;
  }
  const Count quotient = a / b;
  const Count rest = a % b;
  const bool adjust = rest != 0 && (rest < 0) != (b < 0);
  if (op == "//") return adjust ? quotient - 1 : quotient;
  return adjust ? rest + b : rest;
}

Value real_binary(std::string_view op, double a, double b, const std::string& what) {
  if (op == "+") return finite(a + b, what);
  if (op == "-") return finite(a - b, what);
  if (op == "*") return finite(a * b, what);
  if (b == 0) raise("O0206", what + " divides by zero");
  if (op == "/") return finite(a / b, what);
  if (op == "//") return finite(std::floor(a / b), what);
  const double rest = std::fmod(a, b);
  return finite(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest, what);
}

template <typename T>
bool compare(std::string_view op, const T& a, const T& b) {
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  if (op == ">") return a > b;
  return a >= b;
}

bool is_comparison(std::string_view op) {
  return op == "==" || op == "!=" || op == "<" || op == "<=" || op == ">" || op == ">=";
}

std::string_view kind(const Value& a) {
  if (is_text(a)) return "text";
  if (is_number(a)) return "a number";
  return "nothing";
}

Value concatenate(const std::string& a, const std::string& b) {
  if (a.size() + b.size() > kMaxString) raise("O0208", "the text grows beyond 4096 characters");
  return a + b;
}

struct Function {
  std::string_view name;
  std::size_t least, most;
};

constexpr std::array kFunctions = {
    Function{"ceil", 1, 1},  Function{"floor", 1, 1}, Function{"log", 1, 2}, Function{"log2", 1, 1},
    Function{"log10", 1, 1}, Function{"sqrt", 1, 1},  Function{"exp", 1, 1}, Function{"pow", 2, 2},
    Function{"min", 2, 64},  Function{"max", 2, 64},  Function{"abs", 1, 1}, Function{"round", 1, 2},
    Function{"int", 1, 1},   Function{"float", 1, 1}, Function{"str", 1, 1},
};

const Function* find_function(std::string_view name) {
  const auto found =
      std::find_if(kFunctions.begin(), kFunctions.end(), [&](const Function& f) { return f.name == name; });
  return found == kFunctions.end() ? nullptr : &*found;
}

Value number_in(const std::string& text, bool whole_only, const std::string& what) {
  if (whole_only) {
    if (const auto whole = base::parse_number<Count>(text)) return *whole;
  } else if (const auto real = base::parse_number<double>(text)) {
    return finite(*real, what);
  }
  raise("O0204", what + ": the text is not a number");
}

Value round_half_even(const Value& a, const Value* digits, const std::string& what) {
  if (digits == nullptr) {
    if (is_whole(a)) return whole(a);
    const double x = real(a);
    double lower = std::floor(x);
    if (x - lower > 0.5 || (x - lower == 0.5 && std::fmod(lower, 2.0) != 0)) lower += 1;
    return to_whole(lower, what);
  }
  if (!is_whole(*digits) || std::abs(real(*digits)) > 300) raise("O0202", what + ": the digits must be a small count");
  const double scale = std::pow(10.0, real(*digits));
  return finite(std::nearbyint(real(a) * scale) / scale, what);
}

}  // namespace

std::string describe(const Value& a) {
  if (const auto* text = std::get_if<std::string>(&a)) return fmt::format("\"{}\"", *text);
  if (const auto* flag = std::get_if<bool>(&a)) return *flag ? "true" : "false";
  if (const auto* count = std::get_if<Count>(&a)) return fmt::format("{}", *count);
  if (const auto* number = std::get_if<double>(&a)) return fmt::format("{}", *number);
  return "null";
}

bool truth(const Value& a) {
  if (const auto* text = std::get_if<std::string>(&a)) return !text->empty();
  return is_number(a) && real(a) != 0;
}

bool is_function(std::string_view name) {
  return find_function(name) != nullptr;
}

std::optional<Value> constant(std::string_view name) {
  if (name == "pi") return std::numbers::pi;
  if (name == "e") return std::numbers::e;
  if (name == "tau") return 2 * std::numbers::pi;
  if (name == "inf") return std::numeric_limits<double>::infinity();
  if (name == "True" || name == "true") return true;
  if (name == "False" || name == "false") return false;
  if (name == "None" || name == "null") return Value{};
  return std::nullopt;
}

Value unary(std::string_view op, const Value& a) {
  if (!is_number(a)) raise("O0204", fmt::format("`{}` needs a number, but {} is {}", op, describe(a), kind(a)));
  if (std::holds_alternative<double>(a)) return op == "-" ? -real(a) : real(a);
  if (op == "+") return whole(a);
  return whole_binary("-", 0, whole(a), fmt::format("-{}", describe(a)));
}

Value binary(std::string_view op, const Value& a, const Value& b) {
  const std::string what = fmt::format("{} {} {}", describe(a), op, describe(b));
  if (is_comparison(op)) {
    if (is_text(a) && is_text(b)) return compare(op, std::get<std::string>(a), std::get<std::string>(b));
    if (is_whole(a) && is_whole(b)) return compare(op, whole(a), whole(b));
    if (is_number(a) && is_number(b)) return compare(op, real(a), real(b));
    if (op == "==") return a.index() == b.index();
    if (op == "!=") return a.index() != b.index();
    raise("O0204", fmt::format("{}: {} and {} have no order", what, kind(a), kind(b)));
  }
  if (op == "+" && is_text(a) && is_text(b)) return concatenate(std::get<std::string>(a), std::get<std::string>(b));
  if (!is_number(a) || !is_number(b)) {
    const Value& wrong = is_number(a) ? b : a;
    raise("O0204", fmt::format("{}: `{}` needs numbers, but {} is {}", what, op, describe(wrong), kind(wrong)));
  }
  if (op == "**") return power(a, b, what);
  if (is_whole(a) && is_whole(b)) return whole_binary(op, whole(a), whole(b), what);
  return real_binary(op, real(a), real(b), what);
}

Value call(std::string_view name, std::span<const Value> arguments) {
  const Function* function = find_function(name);
  if (function == nullptr) raise("O0202", fmt::format("there is no function `{}`", name));
  if (arguments.size() < function->least || arguments.size() > function->most) {
    raise("O0202",
          fmt::format("`{}` takes {} argument{}, but is given {}", name,
                      function->least == function->most ? fmt::format("{}", function->least)
                                                        : fmt::format("{} to {}", function->least, function->most),
                      base::plural(function->most), arguments.size()));
  }
  std::string what = fmt::format("{}(", name);
  for (std::size_t i = 0; i < arguments.size(); ++i) what += (i > 0 ? ", " : "") + describe(arguments[i]);
  what += ")";

  const Value& first = arguments.front();
  if (name == "str") return is_text(first) ? first : Value{describe(first)};
  if (is_text(first) && (name == "int" || name == "float")) {
    return number_in(std::get<std::string>(first), name == "int", what);
  }
  for (const Value& argument : arguments) {
    if (!is_number(argument)) {
      raise("O0204", fmt::format("{}: {} is {}, not a number", what, describe(argument), kind(argument)));
    }
  }
  if (name == "min" || name == "max") {
    const Value* best = &first;
    for (const Value& argument : arguments.subspan(1)) {
      if (truth(binary(name == "min" ? "<" : ">", argument, *best))) best = &argument;
    }
    return *best;
  }
  if (name == "abs") return real(first) < 0 ? unary("-", first) : unary("+", first);
  if (name == "float") return real(first);
  if (name == "pow") return power(first, arguments[1], what);
  if (name == "round") return round_half_even(first, arguments.size() > 1 ? &arguments[1] : nullptr, what);
  if (name == "ceil" || name == "floor" || name == "int") {
    if (is_whole(first)) return whole(first);
    const double x = real(first);
    return to_whole(name == "ceil" ? std::ceil(x) : name == "floor" ? std::floor(x) : std::trunc(x), what);
  }
  const double x = real(first);
  if (name == "exp") {
    const double result = std::exp(x);
    if (std::isinf(result) && std::isfinite(x)) raise("O0207", what + " exceeds the real numbers");
    return result;
  }
  if (name == "sqrt") {
    if (x < 0) raise("O0206", what + " is not defined");
    return std::sqrt(x);
  }
  if (!(x > 0)) raise("O0206", what + " is not defined; logarithms take positive numbers");
  if (name == "log2") return std::log2(x);
  if (name == "log10") return std::log10(x);
  if (arguments.size() == 1) return std::log(x);
  const double base = real(arguments[1]);
  if (!(base > 0) || base == 1) raise("O0206", what + " is not defined");
  return finite(std::log(x) / std::log(base), what);
}

}  // namespace orrery::formats::timeloop::python
