// Attribute and argument values of components, as their descriptions give them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "orrery/base/numbers/count.h"

namespace orrery::energy {

// `monostate`: given, but empty (YAML null).
using Value = std::variant<std::monostate, bool, base::Count, double, std::string>;
using Attributes = std::map<std::string, Value, std::less<>>;

// The value as Python's `str` writes it ("1.2e-09", "32nm", "True"): estimation tables are matched as text.
std::string text(const Value& value);

// The value as a finite number; a text counts when all of it is a number, a truth value as 1 or 0 (as in Python).
// Nothing otherwise.
std::optional<double> number(const Value& value);

// The value of `name`, or null.
const Value* find(const Attributes& attributes, std::string_view name);

}  // namespace orrery::energy
