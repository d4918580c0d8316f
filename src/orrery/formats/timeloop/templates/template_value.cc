#include "orrery/formats/timeloop/templates/template_value.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/formats/timeloop/expressions/python_arithmetic.h"

namespace orrery::formats::timeloop::jinja {
namespace {

constexpr int kMostNesting = 16;
constexpr std::size_t kMostWeight = std::size_t{2} << 20;
constexpr std::size_t kWeightOfOne = 256;

void weigh(TemplateValue& whole, const TemplateValue& part) {
  whole.weight += kWeightOfOne + weight_of(part);
  whole.depth = std::max(whole.depth, part.depth + 1);
  if (whole.depth > kMostNesting || whole.weight > kMostWeight)
    throw OperationError{
        fmt::format("lists hold more than {} MiB, or nest more than {} deep", kMostWeight >> 20, kMostNesting), ""};
}

std::string quoted(const TemplateValue& value) {
  if (const std::string* text = value.as_text()) return "'" + *text + "'";
  return text_of(value);
}

void bound(const std::string& text) {
  if (text.size() > kMostText) throw OperationError{fmt::format("the text grows beyond {} KiB", kMostText >> 10), ""};
}

}  // namespace

TemplateValue TemplateValue::of(Value scalar) {
  TemplateValue value;
  value.kind = TemplateValue::Kind::kScalar;
  value.scalar = std::move(scalar);
  return value;
}
TemplateValue TemplateValue::text(std::string text) {
  return of(Value(std::move(text)));
}
TemplateValue TemplateValue::number(base::Count number) {
  return of(Value(number));
}
TemplateValue TemplateValue::truth(bool truth) {
  return of(Value(truth));
}
TemplateValue TemplateValue::items(List list) {
  TemplateValue value;
  value.kind = TemplateValue::Kind::kList;
  for (const TemplateValue& item : list) weigh(value, item);
  value.list = std::make_shared<const List>(std::move(list));
  return value;
}
TemplateValue TemplateValue::entries(Map map) {
  TemplateValue value;
  value.kind = TemplateValue::Kind::kMap;
  for (const auto& entry : map) weigh(value, entry.second);
  value.map = std::make_shared<Map>(std::move(map));
  return value;
}
TemplateValue TemplateValue::undefined(std::string missing) {
  TemplateValue value;
  value.missing = std::move(missing);
  return value;
}

bool TemplateValue::is_text() const {
  return as_text() != nullptr;
}

const std::string* TemplateValue::as_text() const {
  if (kind == TemplateValue::Kind::kIncluded) return &included->text();
  return kind == TemplateValue::Kind::kScalar ? std::get_if<std::string>(&scalar) : nullptr;
}

const TemplateValue* TemplateValue::find(std::string_view key) const {
  if (kind != TemplateValue::Kind::kMap) return nullptr;
  const auto found = std::find_if(map->begin(), map->end(), [&](const auto& entry) { return entry.first == key; });
  return found == map->end() ? nullptr : &found->second;
}

std::size_t TemplateValue::size() const {
  if (const std::string* text = as_text()) return text->size();
  return kind == TemplateValue::Kind::kList ? list->size() : kind == TemplateValue::Kind::kMap ? map->size() : 0;
}

std::size_t weight_of(const TemplateValue& value) {
  return value.weight + (value.is_text() ? value.size() : 0);
}

bool is_true(const TemplateValue& value) {
  switch (value.kind) {
    case TemplateValue::Kind::kUndefined:
      return false;
    case TemplateValue::Kind::kScalar:
      return python::truth(value.scalar);
    case TemplateValue::Kind::kMacro:
      return true;
    default:
      return value.size() > 0;
  }
}

std::string text_of(const TemplateValue& value) {
  switch (value.kind) {
    case TemplateValue::Kind::kUndefined:
    case TemplateValue::Kind::kMacro:
      return "";
    case TemplateValue::Kind::kIncluded:
      return value.included->text();
    case TemplateValue::Kind::kList: {
      std::string out = "[";
      for (const TemplateValue& item : *value.list) {
        out += (out.size() > 1 ? ", " : "") + quoted(item);
        bound(out);
      }
      return out + "]";
    }
    case TemplateValue::Kind::kMap: {
      std::string out = "{";
      for (const auto& [key, item] : *value.map) {
        out += fmt::format("{}'{}': {}", out.size() > 1 ? ", " : "", key, quoted(item));
        bound(out);
      }
      return out + "}";
    }
    case TemplateValue::Kind::kScalar:
      break;
  }
  if (const auto* text = std::get_if<std::string>(&value.scalar)) return *text;
  if (const auto* truth = std::get_if<bool>(&value.scalar)) return *truth ? "True" : "False";
  if (const auto* whole = std::get_if<base::Count>(&value.scalar)) return fmt::to_string(*whole);
  if (const auto* real = std::get_if<double>(&value.scalar)) {
    std::string digits = fmt::format("{}", *real);
    return digits.find_first_not_of("-0123456789") == std::string::npos ? digits + ".0" : digits;
  }
  return "None";
}

bool equal(const TemplateValue& a, const TemplateValue& b) {
  const std::string* x = a.as_text();
  const std::string* y = b.as_text();
  if (x != nullptr && y != nullptr) return *x == *y;
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case TemplateValue::Kind::kScalar:
      return (x == nullptr) == (y == nullptr) && python::truth(python::binary("==", a.scalar, b.scalar));
    case TemplateValue::Kind::kList:
      return std::equal(a.list->begin(), a.list->end(), b.list->begin(), b.list->end(), equal);
    case TemplateValue::Kind::kMap:
      return a.map->size() == b.map->size() && std::all_of(a.map->begin(), a.map->end(), [&](const auto& entry) {
               const TemplateValue* other = b.find(entry.first);
               return other != nullptr && equal(entry.second, *other);
             });
    case TemplateValue::Kind::kMacro:
      return a.macro == b.macro;
    default:
      return false;
  }
}

std::string kind_of(const TemplateValue& value) {
  if (value.is_text()) return "a text";
  switch (value.kind) {
    case TemplateValue::Kind::kUndefined:
      return "nothing";
    case TemplateValue::Kind::kList:
      return "a list";
    case TemplateValue::Kind::kMap:
      return "a map";
    case TemplateValue::Kind::kMacro:
      return "a macro";
    default:
      break;
  }
  return std::holds_alternative<std::monostate>(value.scalar) ? "None"
         : std::holds_alternative<bool>(value.scalar)         ? "a truth value"
                                                              : "a number";
}

}  // namespace orrery::formats::timeloop::jinja
