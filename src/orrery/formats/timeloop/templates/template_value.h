// What an expression of a template may be: the scalars of documents, lists and maps of values, a macro, an included
// text with its places, or nothing that is known (`undefined`), which only `default` and `is defined` may touch.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "orrery/formats/timeloop/expressions/expression_value.h"
#include "orrery/formats/timeloop/templates/placed_text.h"

namespace orrery::formats::timeloop::jinja {

struct Statement;
struct TemplateValue;
using List = std::vector<TemplateValue>;
using Map = std::vector<std::pair<std::string, TemplateValue>>;  // in the order of writing

// What is wrong with an operation on values, without its place.
struct OperationError {
  std::string message;
  std::string hint;
};

struct TemplateValue {
  enum class Kind { kUndefined, kScalar, kList, kMap, kMacro, kIncluded };

  Kind kind = Kind::kUndefined;
  Value scalar;
  std::string missing;  // of undefined: what has no value
  std::shared_ptr<const List> list;
  std::shared_ptr<Map> map;  // shared and changed by `set` where it is a namespace
  bool names_space = false;  // of a map: `set x.name` may change it, and nothing but its entries can be asked for
  std::size_t weight = 0;    // of a list or a map: the bytes of all that it holds, about
  int depth = 0;             // lists and maps within each other
  const Statement* macro = nullptr;
  std::shared_ptr<const PlacedText> included;

  static TemplateValue of(Value scalar);
  static TemplateValue text(std::string text);
  static TemplateValue number(base::Count number);
  static TemplateValue truth(bool truth);
  // Throw OperationError for what nests or holds too much.
  static TemplateValue items(List list);
  static TemplateValue entries(Map map);
  static TemplateValue undefined(std::string missing);

  bool is_text() const;
  const std::string* as_text() const;  // null: it is none
  const TemplateValue* find(std::string_view key) const;
  std::size_t size() const;  // of a text, a list or a map
};

inline constexpr std::size_t kMostText = std::size_t{16} << 10;  // bytes of a text that is made

// What working through a value costs, in bytes.
std::size_t weight_of(const TemplateValue& value);

// As Python's `bool` and `str` say it; lists and maps as their `repr`. Throws OperationError for a text too long.
bool is_true(const TemplateValue& value);
std::string text_of(const TemplateValue& value);
bool equal(const TemplateValue& a, const TemplateValue& b);
// "a text", "a list": for messages.
std::string kind_of(const TemplateValue& value);

}  // namespace orrery::formats::timeloop::jinja
