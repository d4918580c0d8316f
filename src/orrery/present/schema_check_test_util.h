// A validator for the part of JSON Schema (draft-07) that Orrery's schemas use: type, properties, required,
// additionalProperties, items, enum, anyOf and $ref into the schema itself. Debian 12 packages none for C++. A keyword
// that is not known here is a failure, so that no part of a schema goes unchecked.
#pragma once

#include <cmath>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "orrery/present/answer.h"

namespace orrery::verbs {

class SchemaCheck {
 public:
  explicit SchemaCheck(nlohmann::json schema) : schema_(std::move(schema)) {}

  // What of `value` the schema does not allow, each with its path; empty when it is valid.
  std::vector<std::string> operator()(const nlohmann::json& value) const {
    std::vector<std::string> found;
    check(schema_, value, "", found);
    return found;
  }

 private:
  using Json = nlohmann::json;

  static bool is_of(const std::string& type, const Json& value) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "null") return value.is_null();
    if (type == "number") return value.is_number();
    if (type == "integer") return value.is_number() && value.get<double>() == std::floor(value.get<double>());
    return false;
  }

  void check(const Json& schema, const Json& value, const std::string& path, std::vector<std::string>& found) const {
    static const std::set<std::string> known = {"$schema",     "$ref", "title",      "description",
                                                "definitions", "type", "properties", "required",
                                                "items",       "enum", "anyOf",      "additionalProperties"};
    for (const auto& [keyword, ignored] : schema.items())
      if (known.count(keyword) == 0) found.push_back(path + ": the schema has the unknown keyword " + keyword);
    if (schema.contains("$ref")) {
      const auto target = schema["$ref"].get<std::string>();
      check(schema_.at(Json::json_pointer(target.substr(1))), value, path, found);
    }
    if (schema.contains("type")) {
      const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
      bool fits = false;
      for (const Json& type : types) fits = fits || is_of(type.get<std::string>(), value);
      if (!fits) found.push_back(path + ": " + value.dump().substr(0, 60) + " is no " + types.dump());
    }
    if (schema.contains("enum")) {
      bool fits = false;
      for (const Json& choice : schema["enum"]) fits = fits || choice == value;
      if (!fits) found.push_back(path + ": " + value.dump().substr(0, 60) + " is none of " + schema["enum"].dump());
    }
    if (schema.contains("anyOf")) {
      std::vector<std::string> tried;
      bool fits = false;
      for (const Json& one : schema["anyOf"]) {
        std::vector<std::string> of_one;
        check(one, value, path, of_one);
        fits = fits || of_one.empty();
        tried.insert(tried.end(), of_one.begin(), of_one.end());
      }
      if (!fits) found.insert(found.end(), tried.begin(), tried.end());
    }
    if (value.is_object()) {
      if (schema.contains("required"))
        for (const Json& key : schema["required"])
          if (!value.contains(key.get<std::string>())) found.push_back(path + ": lacks " + key.dump());
      const Json properties = schema.value("properties", Json::object());
      const Json others = schema.value("additionalProperties", Json(true));
      for (const auto& [key, inner] : value.items()) {
        if (properties.contains(key))
          check(properties[key], inner, path + "/" + key, found);
        else if (others.is_object())
          check(others, inner, path + "/" + key, found);
        else if (others == false)
          found.push_back(path + ": the key " + key + " is not described");
      }
    }
    if (value.is_array() && schema.contains("items"))
      for (std::size_t i = 0; i < value.size(); ++i)
        check(schema["items"], value[i], path + "/" + std::to_string(i), found);
  }

  Json schema_;
};

// What is printed of the answer, which must be as the document's schema describes.
template <typename Answer>
nlohmann::json checked(const Document<Answer>& document, const Answer& answer, double seconds = 0) {
  const auto out = nlohmann::json::parse(document.json(answer, seconds));
  std::string all;
  for (const std::string& complaint : SchemaCheck(nlohmann::json::parse(text(document.schema())))(out))
    all += complaint + "\n";
  if (!all.empty()) throw std::runtime_error(all);
  return out;
}

}  // namespace orrery::verbs
