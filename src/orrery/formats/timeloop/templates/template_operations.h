// Operators, filters, tests and methods of templates: pure functions on values.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/formats/timeloop/templates/template_value.h"

namespace orrery::formats::timeloop::jinja {

struct TemplateArguments {
  std::vector<TemplateValue> values;
  std::vector<std::pair<std::string, TemplateValue>> named;

  // The argument at a position or of a name; null where there is none.
  const TemplateValue* find(std::size_t position, std::string_view name) const;
};

// `op`: + - * / // % ** ~ == != < <= > >= in. Throws OperationError.
TemplateValue apply_operator(std::string_view op, const TemplateValue& a, const TemplateValue& b);
// `op`: + -.
TemplateValue apply_sign(std::string_view op, const TemplateValue& a);
// `value|name(...)` but `default`, which the renderer knows. Throws OperationError.
TemplateValue apply_filter(std::string_view name, const TemplateValue& value, const TemplateArguments& arguments);
// `value is name(...)`. Throws OperationError.
bool apply_test(std::string_view name, const TemplateValue& value, const TemplateArguments& arguments);
// `value.name(...)`. Throws OperationError.
TemplateValue call_method(std::string_view name, const TemplateValue& value, const TemplateArguments& arguments);
// `value[key]`. Throws OperationError.
TemplateValue item_of(const TemplateValue& value, const TemplateValue& key);
// What a loop goes through: items, keys, characters. Throws OperationError.
List items_of(const TemplateValue& value);
// `range(...)`. Throws OperationError.
List range_of(const TemplateArguments& arguments);

}  // namespace orrery::formats::timeloop::jinja
