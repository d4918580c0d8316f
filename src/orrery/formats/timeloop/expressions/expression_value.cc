// Names and scalars -> values.
//
// Any text may be an expression, and any text may be just a text ("LPDDR4", "itrs-lstp", "1:N"). Where
// any value will do, a text is an expression when it parses as one and knows at least one of its names
// (or has none); otherwise it stays a text, as Timeloop's front end leaves it. Where a number is
// demanded, a text that is not a number is a mistake, and the reader says which.
//
// Variables are evaluated when first looked up and kept: n variables cost n evaluations however they
// refer to each other.
#include "orrery/formats/timeloop/expressions/expression_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/formats/timeloop/expressions/expression.h"
#include "orrery/formats/timeloop/expressions/python_arithmetic.h"
#include "orrery/formats/timeloop/expressions/unit_mistake.h"

namespace orrery::formats::timeloop {
namespace {

constexpr int kMaxChain = 64;

// Something is wrong and has been said.
struct Reported {};

bool is_identifier(std::string_view name) {
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name.front())) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

// Runs of characters that no name has become one `_`: "EMBEDDING//HEADS" -> "EMBEDDING_HEADS".
std::string as_identifier(std::string_view name) {
  std::string result;
  bool gap = false;
  for (char c : name) {
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    if (letter) {
      if (gap && !result.empty()) result += '_';
      result += c;
    }
    gap = !letter;
  }
  return result;
}

base::Location part_of(const yaml::Node& node, std::size_t offset, std::size_t length) {
  base::Location where = node.where;
  const std::size_t first_line = node.scalar.find('\n');
  if (first_line == std::string::npos && static_cast<std::size_t>(std::max(0, where.length)) >= node.scalar.size()) {
    where.column += static_cast<int>(offset) + (node.quoted ? 1 : 0);
    where.length = static_cast<int>(std::max<std::size_t>(1, length));
  }
  return where;
}

void report(const ExpressionError& error, const yaml::Node& node, const Scope& scope, base::Diagnostics& found) {
  auto& diagnostic = found.error(error.code, error.message + fmt::format(" (in `{}`)", node.scalar.substr(0, 200)),
                                 part_of(node, error.offset, error.length));
  if (error.code == "O0201") {
    diagnostic.hint(
        base::did_you_mean(error.name, scope.names(),
                           fmt::format("define `{}` under `variables`, or give the file that defines it", error.name)));
  } else if (error.code == "O0202" && !error.name.empty()) {
    static constexpr std::string_view kNames[] = {"ceil", "floor", "log", "log2",  "log10", "sqrt",  "exp", "pow",
                                                  "min",  "max",   "abs", "round", "int",   "float", "str"};
    const std::vector<std::string> known(std::begin(kNames), std::end(kNames));
    diagnostic.hint(base::did_you_mean(error.name, known));
    diagnostic.note("functions: ceil floor log log2 log10 sqrt exp pow min max abs round int float str");
  }
}

std::optional<Value> plain_yaml(const yaml::Node& node) {
  const std::string& text = node.scalar;
  if (node.quoted) return std::nullopt;
  if (text.empty()) return Value{};
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  if (text == "null" || text == "Null" || text == "NULL" || text == "~") return Value{};
  if (text == ".inf" || text == "+.inf" || text == ".Inf") return HUGE_VAL;
  if (text == "-.inf" || text == "-.Inf") return -HUGE_VAL;
  if (text == ".nan" || text == ".NaN") return std::nan("");
  return std::nullopt;
}

// `demanding`: a number is needed, so a text that is none is an error.
std::optional<Value> evaluate_scalar(const yaml::Node& node, const Scope& scope, base::Diagnostics& found,
                                     bool demanding) {
  if (auto value = plain_yaml(node)) return value;
  std::optional<Expression> expression;
  try {
    expression = Expression::parse(node.scalar);
  } catch (const ExpressionError& error) {
    // A text with operators is meant as an expression where a number is demanded.
    const bool meant = error.code == "O0208" || node.scalar.find_first_of("+-*/%()") != std::string::npos;
    if (error.code != "O0207" && !(demanding && meant)) return node.scalar;
    report(error, node, scope, found);
    return std::nullopt;
  }
  const auto& names = expression->names();
  const bool knows_one =
      std::any_of(names.begin(), names.end(), [&](const std::string& name) { return scope.knows(name); });
  if (!demanding && !names.empty() && !knows_one && (expression->is_name() || !expression->calls())) {
    return node.scalar;
  }
  try {
    return expression->evaluate([&](std::string_view name) -> std::optional<Value> {
      if (!scope.knows(name)) return std::nullopt;
      auto value = scope.scope_of(name, node).lookup(name, found);
      if (!value) throw Reported{};
      return value;
    });
  } catch (const ExpressionError& error) {
    report(error, node, scope, found);
  } catch (const Reported&) {
  }
  return std::nullopt;
}

std::string_view kind_of(const yaml::Node& node) {
  switch (node.kind) {
    case yaml::Node::Kind::kNull:
      return "empty";
    case yaml::Node::Kind::kSequence:
      return "a list";
    case yaml::Node::Kind::kMap:
      return "a map";
    case yaml::Node::Kind::kScalar:
      break;
  }
  return "a value";
}

void wrong_kind(const yaml::Node& node, std::string_view what, std::string_view wanted, std::string_view is,
                base::Diagnostics& found) {
  found.error("O0210", fmt::format("`{}` must be {}, but is {}", what, wanted, is), node.where);
}

// Value of a node where a number is demanded; a text is an error that says what it may have meant.
std::optional<Value> demand_number(const yaml::Node& node, const Scope& scope, std::string_view what,
                                   std::string_view wanted, base::Diagnostics& found) {
  if (!node.is_scalar()) {
    wrong_kind(node, what, wanted, kind_of(node), found);
    return std::nullopt;
  }
  if (const auto mistake = unit_mistake(node.scalar, what)) {
    auto& diagnostic = found.error(
        "O0212", fmt::format("`{}` is a number without a unit, but is `{}`", what, node.scalar), node.where);
    for (const std::string& reading : mistake->readings) diagnostic.note(reading);
    diagnostic.hint(mistake->hint);
    return std::nullopt;
  }
  auto value = evaluate_scalar(node, scope, found, true);
  if (!value) return std::nullopt;
  if (const auto* text = std::get_if<std::string>(&*value)) {
    auto& diagnostic = found.error(
        "O0210", fmt::format("`{}` must be {}, but is the text `{}`", what, wanted, text->substr(0, 200)), node.where);
    if (*text != node.scalar) diagnostic.note(fmt::format("`{}` stands for this text", node.scalar));
    return std::nullopt;
  }
  if (std::holds_alternative<bool>(*value) || std::holds_alternative<std::monostate>(*value)) {
    wrong_kind(node, what, wanted, python::describe(*value), found);
    return std::nullopt;
  }
  return value;
}

}  // namespace

void Scope::define(std::string name, const yaml::Node* value) {
  if (value->is_map() || value->is_sequence()) return;
  if (!is_identifier(name)) {
    std::string other = as_identifier(name);
    if (!other.empty() && other != name && bindings_.find(other) == bindings_.end()) {
      bindings_[other] = Binding{value, std::nullopt, name, false};
    }
  }
  bindings_[std::move(name)] = Binding{value, std::nullopt, "", false};
}

void Scope::define(std::string name, Value value) {
  bindings_[std::move(name)] = Binding{nullptr, std::move(value), "", true};
}

void Scope::define_all(const yaml::Node& map) {
  for (const auto& entry : map.entries) define(entry.key, &entry.value);
}

Scope::Binding* Scope::find(std::string_view name) const {
  const auto found = bindings_.find(name);
  return found == bindings_.end() ? nullptr : &found->second;
}

bool Scope::knows(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer_) {
    if (scope->find(name) != nullptr) return true;
  }
  return false;
}

const yaml::Node* Scope::node_of(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer_) {
    if (const Binding* binding = scope->find(name)) return binding->node;
  }
  return nullptr;
}

const Scope& Scope::scope_of(std::string_view name, const yaml::Node& asking) const {
  for (const Scope* scope = this; scope->outer_ != nullptr; scope = scope->outer_) {
    const Binding* binding = scope->find(name);
    if (binding == nullptr) continue;
    return binding->node == &asking && scope->outer_->knows(name) ? *scope->outer_ : *scope;
  }
  return *this;
}

std::optional<Value> Scope::lookup(std::string_view name, base::Diagnostics& found) const {
  const Scope* scope = this;
  while (scope != nullptr && scope->find(name) == nullptr) scope = scope->outer_;
  if (scope == nullptr) return std::nullopt;
  if (scope != this) return scope->lookup(name, found);

  const auto active = std::find(in_progress_.begin(), in_progress_.end(), name);
  if (active != in_progress_.end()) {
    const yaml::Node* node = find(name)->node;
    std::string members;
    for (auto member = active; member != in_progress_.end(); ++member) members += *member + " -> ";
    found
        .error("O0203", fmt::format("the value of `{}` depends on itself", name), node ? node->where : base::Location{})
        .note(members + std::string(name));
    return std::nullopt;
  }
  Binding* binding = find(name);
  if (binding->evaluated) return binding->value;

  const yaml::Node& node = *binding->node;
  if (!binding->written.empty()) {
    found
        .warning("O0205",
                 fmt::format("`{}` stands for the variable `{}`, which no expression can name", name, binding->written),
                 node.where)
        .hint(fmt::format("call the variable `{}`", name));
  }
  if (*depth_ >= kMaxChain) {
    found.error("O0208", fmt::format("`{}` ends a chain of more than {} variables", name, kMaxChain), node.where);
    return std::nullopt;
  }
  in_progress_.emplace_back(name);
  ++*depth_;
  auto value = evaluate(node, *this, found);
  --*depth_;
  in_progress_.pop_back();
  binding->evaluated = true;
  binding->value = value;
  return value;
}

std::vector<std::string> Scope::names() const {
  std::vector<std::string> all;
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer_) {
    for (const auto& [name, binding] : scope->bindings_)
      if (name.find('[') == std::string::npos) all.push_back(name);  // of other components
  }
  return all;
}

std::optional<Value> evaluate(const yaml::Node& node, const Scope& scope, base::Diagnostics& found) {
  if (node.is_null()) return Value{};
  if (!node.is_scalar()) {
    wrong_kind(node, "this", "a single value", kind_of(node), found);
    return std::nullopt;
  }
  return evaluate_scalar(node, scope, found, false);
}

std::optional<base::Count> as_count(const yaml::Node& node, const Scope& scope, std::string_view what,
                                    base::Diagnostics& found) {
  const auto value = demand_number(node, scope, what, "a whole number", found);
  if (!value) return std::nullopt;
  if (const auto* count = std::get_if<base::Count>(&*value)) return *count;
  const double number = std::get<double>(*value);
  const auto whole = base::whole_number(number);
  if (whole && number == std::floor(number)) return whole;
  auto& diagnostic =
      found.error("O0211", fmt::format("`{}` must be a whole number, but is {}", what, number), node.where);
  if (!std::isfinite(number)) {
    diagnostic.hint("leave it out where there is no limit");
  } else if (whole) {
    const base::Count below = number < 0 ? *whole - 1 : *whole;
    diagnostic.note(fmt::format("it lies between {} and {}", below, below + 1));
  }
  return std::nullopt;
}

std::optional<double> as_number(const yaml::Node& node, const Scope& scope, std::string_view what,
                                base::Diagnostics& found) {
  const auto value = demand_number(node, scope, what, "a number", found);
  if (!value) return std::nullopt;
  if (const auto* count = std::get_if<base::Count>(&*value)) return static_cast<double>(*count);
  const double number = std::get<double>(*value);
  if (std::isnan(number)) {
    wrong_kind(node, what, "a number", "not a number (NaN)", found);
    return std::nullopt;
  }
  return number;
}

std::optional<bool> as_bool(const yaml::Node& node, const Scope& scope, std::string_view what,
                            base::Diagnostics& found) {
  if (!node.is_scalar()) {
    wrong_kind(node, what, "true or false", kind_of(node), found);
    return std::nullopt;
  }
  for (std::string_view yes : {"yes", "Yes", "on", "On"}) {
    if (node.scalar == yes) return true;
  }
  for (std::string_view no : {"no", "No", "off", "Off"}) {
    if (node.scalar == no) return false;
  }
  std::optional<Value> value = evaluate_scalar(node, scope, found, false);
  if (!value) return std::nullopt;
  if (auto* text = std::get_if<std::string>(&*value)) {
    if (const auto constant = python::constant(*text)) value = constant;
  }
  if (const auto* flag = std::get_if<bool>(&*value)) return *flag;
  if (const auto* count = std::get_if<base::Count>(&*value); count && (*count == 0 || *count == 1)) return *count == 1;
  wrong_kind(node, what, "true or false", fmt::format("`{}`", node.scalar), found);
  return std::nullopt;
}

std::optional<std::string> as_string(const yaml::Node& node, const Scope& scope, std::string_view what,
                                     base::Diagnostics& found) {
  if (!node.is_scalar()) {
    wrong_kind(node, what, "a text", kind_of(node), found);
    return std::nullopt;
  }
  if (is_identifier(node.scalar) && scope.knows(node.scalar)) {
    const auto value = scope.scope_of(node.scalar, node).lookup(node.scalar, found);
    if (!value) return std::nullopt;
    if (const auto* text = std::get_if<std::string>(&*value)) return *text;
  }
  return node.scalar;
}

}  // namespace orrery::formats::timeloop
