// What a JSON object consists of, told once: a column a key, with its meaning and how to get it from a value. Both the
// writer and the JSON Schema (draft-07) follow from it, so that neither can say what the other does not. The JSON type
// is that of what the getter returns:
//
//   double                        number               std::optional<V>, V*            that of V, or null
//   integers                      integer              std::vector<V>                  array
//   bool                          boolean              std::map, vector of pairs       object with any keys
//   std::string, string_view      string               a type with a record of its own object with the record's keys
//
//   Record<Point> point() {
//     return {{"x", "m, to the right", &Point::x}, {"name", "As on the map", &Point::name, when(&Point::named)}};
//   }
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "orrery/present/json_value.h"

namespace orrery::verbs {

// A key without the type that it is a part of.
struct AnyColumn {
  std::string key, text;
  Json schema;
  std::function<Json(const void*)> get;
  std::function<bool(const void*)> present;  // empty: always there
};

Json object_schema(const std::vector<AnyColumn>& columns);  // with these keys and no others
Json object_json(const std::vector<AnyColumn>& columns, const void* of);
void add_keys(Json::Object& out, const std::vector<AnyColumn>& columns, const void* of);
Json typed(const char* type);
Json list_schema(Json items);
Json map_schema(Json values);
Json or_null(Json schema);
Json any_of(Json::List schemas);
void restrict(Json& schema, const std::vector<std::string>& choices);  // texts, or what of a list or map is one

// What has a JSON type of its own.
struct Leaf {
  template <typename V>
  static constexpr bool kHolds =
      std::is_arithmetic_v<V> || std::is_convertible_v<V, std::string_view> || std::is_same_v<V, Json>;

  template <typename V>
  static Json json(const V& value) {
    return Json(value);
  }
  template <typename V>
  static Json schema() {
    if constexpr (std::is_same_v<V, Json>) return Json::Object();  // anything
    if constexpr (std::is_same_v<V, std::nullptr_t>) return typed("null");
    if constexpr (std::is_same_v<V, bool>) return typed("boolean");
    if constexpr (std::is_integral_v<V>) return typed("integer");
    if constexpr (std::is_floating_point_v<V>) return typed("number");
    return typed("string");
  }
};

template <typename V>
inline constexpr bool kIsOptional = std::is_pointer_v<V>;
template <typename V>
inline constexpr bool kIsOptional<std::optional<V>> = true;

template <typename V>
concept Map = requires(const V& v) {
  v.begin()->first.size();
  v.begin()->second;
};

// A value whose leaves are `element`, under optionals, lists and maps.
template <typename V, typename Of>
Json json_of(const V& value, const Of& element) {
  if constexpr (Of::template kHolds<V>) {
    return element.json(value);
  } else if constexpr (kIsOptional<V>) {
    return value ? json_of(*value, element) : Json();
  } else if constexpr (Map<V>) {
    Json::Object out;
    for (const auto& [key, each] : value) out.emplace_back(key, json_of(each, element));
    return out;
  } else {
    Json::List out;
    for (const auto& each : value) out.push_back(json_of(each, element));
    return out;
  }
}

template <typename V, typename Of>
Json schema_of(const Of& element) {
  if constexpr (Of::template kHolds<V>)
    return element.template schema<V>();
  else if constexpr (kIsOptional<V>)
    return or_null(schema_of<std::remove_cvref_t<decltype(*std::declval<V>())>>(element));
  else if constexpr (Map<V>)
    return map_schema(schema_of<std::remove_cvref_t<decltype(std::declval<V>().begin()->second)>>(element));
  else
    return list_schema(schema_of<typename V::value_type>(element));
}

// Modifiers of a column: the key is left out where `present` does not hold; a text is one of these.
template <typename Present>
struct When {
  Present present;
};
template <typename Present>
When<Present> when(Present present) {
  return {std::move(present)};
}
struct OneOf {
  std::vector<std::string> choices;
};

// What describes leaves: `Leaf`, a record, or what prints some type in a way of its own.
template <typename E>
concept Element = requires {
  E::template kHolds<int>;
};

template <typename T>
struct Column : AnyColumn {
  template <typename Get, typename... Modifiers>
  requires std::is_invocable_v<Get, const T&> Column(std::string_view name, std::string_view meaning, Get getter,
                                                     const Modifiers&... modifiers) {
    describe(name, meaning, std::move(getter), Leaf());
    (modify(modifiers), ...);
  }
  template <typename Get, Element Of, typename... Modifiers>
  requires std::is_invocable_v<Get, const T&> Column(std::string_view name, std::string_view meaning, Get getter,
                                                     const Of& element, const Modifiers&... modifiers) {
    describe(name, meaning, std::move(getter), element);
    (modify(modifiers), ...);
  }

 private:
  template <typename Get, Element Of>
  void describe(std::string_view name, std::string_view meaning, Get getter, const Of& element) {
    key = name;
    text = meaning;
    schema = schema_of<std::remove_cvref_t<std::invoke_result_t<Get, const T&>>>(element);
    get = [getter, element](const void* of) {
      return json_of(std::invoke(getter, *static_cast<const T*>(of)), element);
    };
  }
  template <typename Present>
  void modify(const When<Present>& condition) {
    present = [condition](const void* of) { return std::invoke(condition.present, *static_cast<const T*>(of)); };
  }
  void modify(const OneOf& values) { restrict(schema, values.choices); }
};

template <typename T>
class Record {
 public:
  Record(std::initializer_list<Column<T>> columns) : columns_(columns.begin(), columns.end()) {}

  Record& add(const Record& other) {
    columns_.insert(columns_.end(), other.columns_.begin(), other.columns_.end());
    return *this;
  }
  const std::vector<AnyColumn>& columns() const { return columns_; }
  // These keys are left out where `present` does not hold.
  template <typename Present>
  Record& only(Present present) {
    for (AnyColumn& column : columns_) {
      column.present = [present, inner = column.present](const void* of) {
        return std::invoke(present, *static_cast<const T*>(of)) && (!inner || inner(of));
      };
    }
    return *this;
  }
  // The same keys for a value that has a T.
  template <typename U, typename Get>
  Record<U> of(Get getter) const {
    Record<U> out({});
    for (AnyColumn column : columns_) {
      if (column.present)
        column.present = [getter, inner = column.present](const void* whole) {
          const T& part = std::invoke(getter, *static_cast<const U*>(whole));
          return inner(&part);
        };
      column.get = [getter, inner = column.get](const void* whole) {
        const T& part = std::invoke(getter, *static_cast<const U*>(whole));
        return inner(&part);
      };
      out.columns_.push_back(std::move(column));
    }
    return out;
  }

  template <typename V>
  static constexpr bool kHolds = std::is_same_v<V, T>;
  Json json(const T& value) const { return object_json(columns_, &value); }
  template <typename V = T>
  Json schema() const {
    return object_schema(columns_);
  }

 private:
  template <typename U>
  friend class Record;
  std::vector<AnyColumn> columns_;
};

}  // namespace orrery::verbs
