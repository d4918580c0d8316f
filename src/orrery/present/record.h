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

#include <array>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "orrery/present/json_value.h"

namespace orrery::verbs {

// A key without the type that it is a part of. Plain functions over bytes rather than std::function: there are
// thousands of columns, and what each makes the compiler write is most of what this header costs.
struct AnyColumn {
  using Bytes = std::array<std::byte, 16>;  // what a getter captured: a member, a number

  AnyColumn(std::string_view name, std::string_view meaning);

  std::string key, text;
  std::vector<std::string> choices = {};    // texts that it may be; empty: any
  std::shared_ptr<const Json> schema = {};  // null: that of `type`
  Json (*type)(const AnyColumn& column) = nullptr;
  Json (*get)(const AnyColumn& column, const void* of) = nullptr;
  bool (*present)(const AnyColumn& column, const void* of) = nullptr;  // null: always there
  Bytes getter = {}, condition = {};
  std::shared_ptr<const std::vector<AnyColumn>> part;  // keys of the objects in it
};
using AnyColumns = std::vector<AnyColumn>;

std::shared_ptr<const AnyColumns> share(AnyColumns columns);
Json object_schema(const AnyColumns& columns);  // with these keys and no others
Json object_json(const AnyColumns& columns, const void* of);
void add_keys(Json::Object& out, const AnyColumns& columns, const void* of);
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

// An object with the keys of a record.
template <typename U>
struct Object {
  const AnyColumns& columns;

  template <typename V>
  static constexpr bool kHolds = std::is_same_v<V, U>;
  Json json(const U& value) const { return object_json(columns, &value); }
  template <typename V>
  Json schema() const {
    return object_schema(columns);
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

// Modifiers of a column: the key is left out where `present` does not hold; a text is one of these; the schema is this.
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
struct WithSchema {
  Json schema;
};

// What writes the leaves of a column in a way of its own: a type without members.
template <typename E>
concept Element = std::is_empty_v<E> && requires {
  E::template kHolds<int>;
};

// What a member, a member function or any other function returns of a value.
template <typename T, typename Get>
decltype(auto) got(const T& of, const Get& get) {
  if constexpr (std::is_member_object_pointer_v<Get>)
    return (of.*get);
  else if constexpr (std::is_member_function_pointer_v<Get>)
    return (of.*get)();
  else
    return get(of);
}

// Functions that capture nothing are made anew where they are called.
template <typename F>
AnyColumn::Bytes captured(const F& function) {
  AnyColumn::Bytes out{};
  if constexpr (!std::is_empty_v<F>) {
    static_assert(std::is_trivially_copyable_v<F> && sizeof(F) <= sizeof out, "a column captures a number or a member");
    std::memcpy(out.data(), &function, sizeof(F));
  }
  return out;
}
template <typename T, typename F>
decltype(auto) call(const AnyColumn::Bytes& bytes, const void* of) {
  const T& whole = *static_cast<const T*>(of);
  if constexpr (std::is_empty_v<F>)
    return got(whole, F());
  else
    return got(whole, *std::launder(reinterpret_cast<const F*>(bytes.data())));
}
template <typename T, typename F>
bool holds(const AnyColumn& column, const void* of) {
  return static_cast<bool>(call<T, F>(column.condition, of));
}

// What writes the leaves of a column.
template <typename Of>
Of element_of(const AnyColumn& column) {
  if constexpr (std::is_empty_v<Of>)
    return Of();
  else
    return Of{*column.part};
}
template <typename V, typename Of>
Json type_of(const AnyColumn& column) {
  return schema_of<V>(element_of<Of>(column));
}

template <typename T>
class Record;

template <typename T>
struct Column : AnyColumn {
  template <typename Get, typename... Modifiers>
  [[gnu::noinline]] Column(std::string_view name, std::string_view meaning, Get function, const Modifiers&... modifiers)
      : AnyColumn(name, meaning) {
    describe<Leaf>(function);
    (modify(modifiers), ...);
  }
  template <typename Get, typename U, typename... Modifiers>
  [[gnu::noinline]] Column(std::string_view name, std::string_view meaning, Get function, const Record<U>& keys,
                           const Modifiers&... modifiers)
      : AnyColumn(name, meaning) {
    part = share(keys.columns());
    describe<Object<U>>(function);
    (modify(modifiers), ...);
  }
  template <typename Get, Element Of, typename... Modifiers>
  [[gnu::noinline]] Column(std::string_view name, std::string_view meaning, Get function, const Of&,
                           const Modifiers&... modifiers)
      : AnyColumn(name, meaning) {
    describe<Of>(function);
    (modify(modifiers), ...);
  }

 private:
  template <typename Of, typename Get>
  void describe(const Get& function) {
    using V = std::remove_cvref_t<decltype(got(std::declval<const T&>(), function))>;
    type = type_of<V, Of>;
    getter = captured(function);
    get = [](const AnyColumn& column, const void* of) {
      return json_of(call<T, Get>(column.getter, of), element_of<Of>(column));
    };
  }
  template <typename Present>
  void modify(const When<Present>& when) {
    condition = captured(when.present);
    present = holds<T, Present>;
  }
  void modify(const OneOf& values) { choices = values.choices; }
  void modify(const WithSchema& other) { schema = std::make_shared<const Json>(other.schema); }
};

// The same key and schema; the column itself is `part`, for getters that go by way of it.
AnyColumn around(const AnyColumn& column);

template <typename T>
class Record {
 public:
  Record(std::initializer_list<Column<T>> columns) {
    for (const AnyColumn& column : columns) add(column);
  }

  Record& add(const Record& other) {
    for (const AnyColumn& column : other.columns()) add(column);
    return *this;
  }
  const AnyColumns& columns() const { return columns_; }
  // These keys are left out where `present` does not hold.
  template <typename Present>
  Record& only(Present present) {
    Record out({});
    for (const AnyColumn& column : columns()) {
      AnyColumn outer = around(column);
      outer.get = [](const AnyColumn& by, const void* of) { return by.part->front().get(by.part->front(), of); };
      outer.condition = captured(present);
      outer.present = [](const AnyColumn& by, const void* of) {
        const AnyColumn& inner = by.part->front();
        return holds<T, Present>(by, of) && (!inner.present || inner.present(inner, of));
      };
      out.add(outer);
    }
    return *this = out;
  }
  // The same keys for a value that has a T.
  template <typename U, typename Get>
  Record<U> of(Get function) const {
    Record<U> out({});
    for (const AnyColumn& column : columns()) {
      AnyColumn outer = around(column);
      outer.getter = captured(function);
      outer.get = [](const AnyColumn& by, const void* whole) {
        const T& value = call<U, Get>(by.getter, whole);
        return by.part->front().get(by.part->front(), &value);
      };
      if (column.present)
        outer.present = [](const AnyColumn& by, const void* whole) {
          const T& value = call<U, Get>(by.getter, whole);
          return by.part->front().present(by.part->front(), &value);
        };
      out.add(outer);
    }
    return out;
  }

  Json json(const T& value) const { return object_json(columns(), &value); }
  Json schema() const { return object_schema(columns()); }

 private:
  template <typename U>
  friend class Record;
  void add(const AnyColumn& column) { columns_.push_back(column); }

  AnyColumns columns_;
};

}  // namespace orrery::verbs
