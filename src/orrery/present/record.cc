#include "orrery/present/record.h"

#include <algorithm>

namespace orrery::verbs {

AnyColumn::AnyColumn(std::string_view name, std::string_view meaning) : key(name), text(meaning) {}

AnyColumn around(const AnyColumn& column) {
  AnyColumn out(column.key, column.text);
  out.choices = column.choices;
  out.schema = column.schema;
  out.type = [](const AnyColumn& outer) { return outer.part->front().type(outer.part->front()); };
  out.part = share({column});
  return out;
}

std::shared_ptr<const AnyColumns> share(AnyColumns columns) {
  return std::make_shared<const AnyColumns>(std::move(columns));
}

namespace {

Json schema_of_column(const AnyColumn& column) {
  Json out = column.schema ? *column.schema : column.type(column);
  if (!column.choices.empty()) restrict(out, column.choices);
  return out;
}

}  // namespace

Json object_schema(const AnyColumns& columns) {
  Json::Object properties;
  Json::List required;
  for (const AnyColumn& column : columns) {
    Json property = schema_of_column(column);
    property["description"] = column.text;
    if (!column.present) required.push_back(column.key);
    // A key may stand for one thing in some cases, and for another in others.
    const auto same = std::find_if(properties.begin(), properties.end(),
                                   [&](const auto& other) { return other.first == column.key; });
    if (same == properties.end())
      properties.emplace_back(column.key, std::move(property));
    else if (same->second != property)
      same->second = Json::Object{{"anyOf", Json::List{same->second, std::move(property)}},
                                  {"description", same->second["description"]}};
  }
  Json out = typed("object");
  out["properties"] = std::move(properties);
  if (!required.empty()) out["required"] = std::move(required);
  out["additionalProperties"] = false;
  return out;
}

Json object_json(const AnyColumns& columns, const void* of) {
  Json::Object out;
  add_keys(out, columns, of);
  return out;
}

void add_keys(Json::Object& out, const AnyColumns& columns, const void* of) {
  for (const AnyColumn& column : columns)
    if (!column.present || column.present(column, of)) out.emplace_back(column.key, column.get(column, of));
}

Json typed(const char* type) {
  return Json::Object{{"type", type}};
}

Json list_schema(Json items) {
  return Json::Object{{"type", "array"}, {"items", std::move(items)}};
}

Json map_schema(Json values) {
  return Json::Object{{"type", "object"}, {"additionalProperties", std::move(values)}};
}

Json or_null(Json schema) {
  schema["type"] = Json::List{schema["type"], "null"};
  return schema;
}

void restrict(Json& schema, const std::vector<std::string>& choices) {
  const Json type = schema["type"];
  if (type == Json("array")) return restrict(schema["items"], choices);
  if (type == Json("object")) return restrict(schema["additionalProperties"], choices);
  Json::List values(choices.begin(), choices.end());
  if (type != Json("string")) values.emplace_back();  // or null
  schema["enum"] = std::move(values);
}

Json any_of(Json::List schemas) {
  return Json::Object{{"anyOf", std::move(schemas)}};
}

}  // namespace orrery::verbs
