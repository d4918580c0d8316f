#include "orrery/formats/timeloop/templates/template_operations.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/text/edit_distance.h"
#include "orrery/formats/timeloop/expressions/python_arithmetic.h"

namespace orrery::formats::timeloop::jinja {
namespace {

using T = TemplateValue;

constexpr std::size_t kMostItems = 8000;

T bounded_text(std::string text) {
  if (text.size() > kMostText) throw OperationError{fmt::format("the text grows beyond {} KiB", kMostText >> 10), ""};
  return T::text(std::move(text));
}

const T& defined(const T& value) {
  if (value.kind == TemplateValue::Kind::kUndefined)
    throw OperationError{
        fmt::format("`{}` has no value", value.missing),
        fmt::format("give it one: `--define {0}=...`, or a default: `{0}|default(...)`", value.missing)};
  return value;
}

Value scalar(const T& value, std::string_view op) {
  defined(value);
  if (value.kind == TemplateValue::Kind::kIncluded) return value.included->text();
  if (value.kind != TemplateValue::Kind::kScalar)
    throw OperationError{fmt::format("`{}` takes numbers and texts, but this is {}", op, kind_of(value)), ""};
  return value.scalar;
}

template <typename F>
T arithmetic(F&& compute) {
  try {
    return T::of(compute());
  } catch (const python::ArithmeticError& error) {
    throw OperationError{error.message, ""};
  }
}

const std::string& text(const T& value, std::string_view who) {
  const std::string* held = defined(value).as_text();
  if (held == nullptr) throw OperationError{fmt::format("`{}` takes a text, but this is {}", who, kind_of(value)), ""};
  return *held;
}

bool is_number(const T& value) {
  return value.kind == TemplateValue::Kind::kScalar && !value.is_text() &&
         !std::holds_alternative<std::monostate>(value.scalar);
}

base::Count whole(const T& value, std::string_view who) {
  if (value.kind == TemplateValue::Kind::kScalar) {
    if (const auto* count = std::get_if<base::Count>(&value.scalar)) return *count;
    if (const auto* truth = std::get_if<bool>(&value.scalar)) return *truth ? 1 : 0;
  }
  throw OperationError{fmt::format("`{}` takes a whole number, but this is {}", who, kind_of(value)), ""};
}

bool contains(const T& inside, const T& wanted) {
  if (inside.kind == TemplateValue::Kind::kList)
    return std::any_of(inside.list->begin(), inside.list->end(), [&](const T& item) { return equal(item, wanted); });
  if (inside.kind == TemplateValue::Kind::kMap) return wanted.is_text() && inside.find(*wanted.as_text()) != nullptr;
  return text(inside, "in").find(text(wanted, "in")) != std::string::npos;
}

std::string with_case(std::string text, std::string_view how) {
  bool first = true;
  for (char& c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool up = how == "upper" || (how != "lower" && first);
    if (letter) c = static_cast<char>(up ? (c & ~0x20) : (c | 0x20));
    if (how == "capitalize") first = false;
    if (how == "title") first = !letter && c != '\'';
  }
  return text;
}

std::string trimmed(const std::string& text, std::string_view ends = "lr", const std::string& what = " \t\r\n") {
  const std::size_t begin = ends.find('l') == std::string_view::npos ? 0 : text.find_first_not_of(what);
  if (begin == std::string::npos) return {};
  const std::size_t end = ends.find('r') == std::string_view::npos ? text.size() : text.find_last_not_of(what) + 1;
  return text.substr(begin, end - begin);
}

std::string replaced(const std::string& text, const std::string& from, const std::string& to) {
  if (from.empty()) throw OperationError{"an empty text cannot be replaced", ""};
  std::string out;
  std::size_t at = 0;
  for (std::size_t hit = text.find(from); hit != std::string::npos; hit = text.find(from, at)) {
    out.append(text, at, hit - at);
    out += to;
    at = hit + from.size();
    if (out.size() > kMostText) break;
  }
  return out + text.substr(at);
}

T joined(const List& items, const std::string& between) {
  std::string out;
  for (std::size_t i = 0; i < items.size() && out.size() <= kMostText; ++i)
    out += (i > 0 ? between : "") + text_of(defined(items[i]));
  return bounded_text(std::move(out));
}

T split(const std::string& text, const std::string* at) {
  List parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    if (at == nullptr) {
      begin = text.find_first_not_of(" \t\r\n", begin);
      if (begin == std::string::npos) break;
    }
    std::size_t end = at == nullptr ? text.find_first_of(" \t\r\n", begin) : text.find(*at, begin);
    if (end == std::string::npos) end = text.size();
    parts.push_back(T::text(text.substr(begin, end - begin)));
    begin = end + (at == nullptr ? 1 : at->size());
  }
  return T::items(std::move(parts));
}

bool less(const T& a, const T& b) {
  return is_true(apply_operator("<", a, b));
}

T extreme(const List& items, bool least, std::string_view who) {
  if (items.empty()) throw OperationError{fmt::format("`{}` of nothing", who), ""};
  const T* best = &items.front();
  for (const T& item : items)
    if (least ? less(item, *best) : less(*best, item)) best = &item;
  return *best;
}

// Numbers as Jinja's `int` and `float` filters take them: what is none becomes the default.
T to_number(const T& value, bool to_whole, const T* fallback) {
  try {
    Value held = scalar(value, to_whole ? "int" : "float");
    if (const auto* digits = std::get_if<std::string>(&held)) {
      std::string bare = trimmed(*digits);
      held = bare;
      if (to_whole) {
        const Value real = python::call("float", std::span(&held, 1));
        held = bare.find_first_of(".eE") == std::string::npos ? held : real;
      }
    }
    return T::of(python::call(to_whole ? "int" : "float", std::span(&held, 1)));
  } catch (const python::ArithmeticError&) {
    return fallback != nullptr ? *fallback : to_whole ? T::number(0) : T::of(0.0);
  }
}

T rounded(const T& value, const TemplateArguments& arguments) {
  return arithmetic([&]() -> Value {
    const T* digits = arguments.find(0, "precision");
    const T* method = arguments.find(1, "method");
    const std::string how = method == nullptr ? "common" : text(*method, "round");
    const Value held = python::call("float", std::vector<Value>{scalar(value, "round")});
    if (digits == nullptr && (how == "ceil" || how == "floor"))
      return python::call("float", std::vector<Value>{python::call(how, std::vector<Value>{held})});
    if (how != "common") throw OperationError{"`round` rounds to `ceil` or `floor` without digits only", ""};
    return python::call("round", std::vector<Value>{held, digits == nullptr ? Value(base::Count{0}) : digits->scalar});
  });
}

T indented(const std::string& text, const TemplateArguments& arguments) {
  const T* width = arguments.find(0, "width");
  const base::Count columns = width == nullptr ? 4 : whole(*width, "indent");
  if (columns < 0 || columns > 200) throw OperationError{"`indent` takes 0 to 200 columns", ""};
  const std::string blanks(static_cast<std::size_t>(columns), ' ');
  const T* first = arguments.find(1, "first");
  return bounded_text((first != nullptr && is_true(*first) ? blanks : "") + replaced(text, "\n", "\n" + blanks));
}

[[noreturn]] void no_such(std::string_view what, std::string_view name, const std::vector<std::string>& known) {
  std::string all;
  for (const std::string& one : known) all += (all.empty() ? "" : ", ") + one;
  throw OperationError{fmt::format("`{}` is not a known {}", name, what),
                       base::did_you_mean(std::string(name), known, fmt::format("known: {}", all))};
}

}  // namespace

const TemplateValue* TemplateArguments::find(std::size_t position, std::string_view name) const {
  if (position < values.size()) return &values[position];
  const auto found = std::find_if(named.begin(), named.end(), [&](const auto& one) { return one.first == name; });
  return found == named.end() ? nullptr : &found->second;
}

TemplateValue apply_operator(std::string_view op, const TemplateValue& a, const TemplateValue& b) {
  defined(a);
  defined(b);
  if (op == "~") return bounded_text(text_of(a) + text_of(b));
  if (op == "==") return T::truth(equal(a, b));
  if (op == "!=") return T::truth(!equal(a, b));
  if (op == "in") return T::truth(contains(b, a));
  if (op == "+" && a.is_text() && b.is_text()) return bounded_text(*a.as_text() + *b.as_text());
  if (op == "+" && a.kind == TemplateValue::Kind::kList && b.kind == TemplateValue::Kind::kList) {
    if (a.list->size() + b.list->size() > kMostItems) throw OperationError{"the list grows beyond 8000 items", ""};
    List both = *a.list;
    both.insert(both.end(), b.list->begin(), b.list->end());
    return T::items(std::move(both));
  }
  if (a.is_text() && b.is_text() && (op == "<" || op == ">" || op == "<=" || op == ">=")) {
    const int order = a.as_text()->compare(*b.as_text());
    return T::truth(op == "<" ? order < 0 : op == ">" ? order > 0 : op == "<=" ? order <= 0 : order >= 0);
  }
  return arithmetic([&] { return python::binary(op, scalar(a, op), scalar(b, op)); });
}

TemplateValue apply_sign(std::string_view op, const TemplateValue& a) {
  return arithmetic([&] { return python::unary(op, scalar(a, op)); });
}

TemplateValue apply_filter(std::string_view name, const TemplateValue& value, const TemplateArguments& arguments) {
  static const std::vector<std::string> kKnown = {"abs",    "capitalize", "default", "first",   "float",  "indent",
                                                  "int",    "join",       "last",    "length",  "list",   "lower",
                                                  "max",    "min",        "replace", "reverse", "round",  "sort",
                                                  "string", "sum",        "title",   "trim",    "unique", "upper"};
  defined(value);
  if (name == "upper" || name == "lower" || name == "title" || name == "capitalize")
    return T::text(with_case(text_of(value), name));
  if (name == "trim") return T::text(trimmed(text_of(value)));
  if (name == "string") return bounded_text(text_of(value));
  if (name == "length" || name == "count")
    return T::number(static_cast<base::Count>(value.is_text() ? value.size() : items_of(value).size()));
  if (name == "int" || name == "float") return to_number(value, name == "int", arguments.find(0, "default"));
  if (name == "abs") return arithmetic([&] { return python::call("abs", std::vector<Value>{scalar(value, "abs")}); });
  if (name == "round") return rounded(value, arguments);
  if (name == "indent") return indented(text_of(value), arguments);
  if (name == "replace") {
    const T* from = arguments.find(0, "old");
    const T* to = arguments.find(1, "new");
    if (from == nullptr || to == nullptr) throw OperationError{"`replace` takes what is replaced, and by what", ""};
    return bounded_text(replaced(text_of(value), text_of(*from), text_of(*to)));
  }
  if (name == "join") {
    const T* between = arguments.find(0, "d");
    return joined(items_of(value), between == nullptr ? "" : text_of(*between));
  }
  if (std::find(kKnown.begin(), kKnown.end(), name) == kKnown.end()) no_such("filter", name, kKnown);
  List items = items_of(value);
  if (name == "first" || name == "last") {
    if (items.empty()) return T::undefined(std::string(name));
    return name == "first" ? items.front() : items.back();
  }
  if (name == "min" || name == "max") return extreme(items, name == "min", name);
  if (name == "sum") {
    T total = T::number(0);
    for (const T& item : items) total = apply_operator("+", total, item);
    return total;
  }
  if (name == "reverse") std::reverse(items.begin(), items.end());
  if (name == "sort") {
    const T* reverse = arguments.find(0, "reverse");
    std::stable_sort(items.begin(), items.end(), less);
    if (reverse != nullptr && is_true(*reverse)) std::reverse(items.begin(), items.end());
  }
  if (name == "unique") {
    if (items.size() > 1000) throw OperationError{"`unique` takes 1000 items at most", ""};
    List kept;
    for (T& item : items)
      if (std::none_of(kept.begin(), kept.end(), [&](const T& one) { return equal(one, item); }))
        kept.push_back(std::move(item));
    items = std::move(kept);
  }
  return T::items(std::move(items));
}

bool apply_test(std::string_view name, const TemplateValue& value, const TemplateArguments& arguments) {
  static const std::vector<std::string> kKnown = {"defined", "undefined", "none",        "string",   "number",
                                                  "integer", "boolean",   "mapping",     "sequence", "iterable",
                                                  "even",    "odd",       "divisibleby", "in",       "eq"};
  if (name == "defined") return value.kind != TemplateValue::Kind::kUndefined;
  if (name == "undefined") return value.kind == TemplateValue::Kind::kUndefined;
  defined(value);
  if (name == "none")
    return value.kind == TemplateValue::Kind::kScalar && std::holds_alternative<std::monostate>(value.scalar);
  if (name == "string") return value.is_text();
  if (name == "number") return is_number(value);
  if (name == "integer")
    return value.kind == TemplateValue::Kind::kScalar && std::holds_alternative<base::Count>(value.scalar);
  if (name == "boolean")
    return value.kind == TemplateValue::Kind::kScalar && std::holds_alternative<bool>(value.scalar);
  if (name == "mapping") return value.kind == TemplateValue::Kind::kMap;
  if (name == "sequence" || name == "iterable")
    return value.is_text() || value.size() > 0 || value.kind == TemplateValue::Kind::kList;
  if (name == "even" || name == "odd") return (whole(value, name) % 2 == 0) == (name == "even");
  const T* other = arguments.find(0, "");
  if (name == "divisibleby" && other != nullptr) {
    const base::Count by = whole(*other, name);
    if (by == 0) throw OperationError{"nothing is divisible by 0", ""};
    return by == -1 || whole(value, name) % by == 0;
  }
  if (name == "in" && other != nullptr) return contains(*other, value);
  if ((name == "eq" || name == "equalto") && other != nullptr) return equal(value, *other);
  no_such("test", name, kKnown);
}

TemplateValue call_method(std::string_view name, const TemplateValue& value, const TemplateArguments& arguments) {
  static const std::vector<std::string> kKnown = {"items", "keys",    "values",     "get",       "upper",
                                                  "lower", "strip",   "startswith", "endswith",  "split",
                                                  "join",  "replace", "title",      "capitalize"};
  defined(value);
  if (value.kind == TemplateValue::Kind::kMap && !value.names_space) {
    if (name == "get") {
      const T* key = arguments.find(0, "key");
      const T* other = arguments.find(1, "default");
      const T* held = key == nullptr ? nullptr : value.find(text_of(*key));
      return held != nullptr ? *held : other != nullptr ? *other : T::of(Value{});
    }
    List out;
    for (const auto& [key, item] : *value.map) {
      if (name == "items") out.push_back(T::items({T::text(key), item}));
      if (name == "keys") out.push_back(T::text(key));
      if (name == "values") out.push_back(item);
    }
    if (name == "items" || name == "keys" || name == "values") return T::items(std::move(out));
  }
  if (const std::string* held = value.as_text()) {
    const T* argument = arguments.find(0, "");
    if (name == "upper" || name == "lower" || name == "title" || name == "capitalize")
      return T::text(with_case(*held, name));
    if (name == "strip") return T::text(argument ? trimmed(*held, "lr", text(*argument, name)) : trimmed(*held));
    if (name == "lstrip" || name == "rstrip")
      return T::text(argument ? trimmed(*held, name.substr(0, 1), text(*argument, name))
                              : trimmed(*held, name.substr(0, 1)));
    if (name == "startswith" && argument != nullptr) return T::truth(held->starts_with(text(*argument, name)));
    if (name == "endswith" && argument != nullptr) return T::truth(held->ends_with(text(*argument, name)));
    if (name == "join" && argument != nullptr) return joined(items_of(*argument), *held);
    if (name == "replace") return apply_filter("replace", value, arguments);
    if (name == "split") {
      const std::string* at = argument == nullptr ? nullptr : &text(*argument, name);
      if (at != nullptr && at->empty()) throw OperationError{"a text cannot be split at nothing", ""};
      return split(*held, at);
    }
  }
  no_such(fmt::format("method of {}", kind_of(value)), name, kKnown);
}

TemplateValue item_of(const TemplateValue& value, const TemplateValue& key) {
  defined(value);
  defined(key);
  if (value.kind == TemplateValue::Kind::kMap) {
    const T* held = value.find(text_of(key));
    return held != nullptr ? *held : T::undefined(text_of(key));
  }
  if (!value.is_text() && value.kind != TemplateValue::Kind::kList)
    throw OperationError{fmt::format("{} has no items", kind_of(value)), ""};
  base::Count index = whole(key, "[]");
  const auto size = static_cast<base::Count>(value.size());
  if (index < 0) index += size;
  if (index < 0 || index >= size) return T::undefined(fmt::format("item {}", text_of(key)));
  const auto at = static_cast<std::size_t>(index);
  return value.is_text() ? T::text(value.as_text()->substr(at, 1)) : (*value.list)[at];
}

List items_of(const TemplateValue& value) {
  defined(value);
  if (value.names_space) throw OperationError{"a namespace is not gone through; ask for its entries by name", ""};
  if (value.kind == TemplateValue::Kind::kList) return *value.list;
  List out;
  if (value.kind == TemplateValue::Kind::kMap) {
    for (const auto& entry : *value.map) out.push_back(T::text(entry.first));
    return out;
  }
  if (const std::string* held = value.as_text()) {
    if (held->size() > kMostItems) throw OperationError{"the text has more than 8000 characters", ""};
    for (const char c : *held) out.push_back(T::text(std::string(1, c)));
    return out;
  }
  throw OperationError{fmt::format("{} holds nothing to go through", kind_of(value)), ""};
}

List range_of(const TemplateArguments& arguments) {
  if (arguments.values.empty() || arguments.values.size() > 3) throw OperationError{"`range` takes 1 to 3 numbers", ""};
  std::vector<base::Count> numbers;
  for (const T& value : arguments.values) numbers.push_back(whole(defined(value), "range"));
  if (numbers.size() == 1) numbers.insert(numbers.begin(), 0);
  const base::Count step = numbers.size() > 2 ? numbers[2] : 1;
  if (step == 0) throw OperationError{"the step of `range` is 0", ""};
  List out;
  base::Count at = numbers[0];
  while (step > 0 ? at < numbers[1] : at > numbers[1]) {
    if (out.size() == kMostItems)
      throw OperationError{fmt::format("`range` makes more than {} numbers", kMostItems), ""};
    out.push_back(T::number(at));
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return out;
}

}  // namespace orrery::formats::timeloop::jinja
