// Documents as tables of fields, from which JSON Schemas are made: a field has a name, a type, a unit with its meaning,
// and, for maps and lists, the fields inside.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery::report {

enum class Type {
  kString,
  kExpression,  // a number, or text to be evaluated
  kBool,
  kTruth,  // of results: true or false alone
  kNumber,
  kNumberOrNull,
  kMap,  // with the fields given
  kMapOrNull,
  kListOf,   // of maps with the fields given
  kNodes,    // of maps with the fields given, and of groups of such (`!Parallel`, `!Hierarchical`), to any depth
  kNames,    // a list of names
  kFactors,  // "E=1,D<=16", or a list of such
  kOpenMap,  // any keys
  kAnything,
};

struct Field {
  const char* name;
  Type type;
  const char* doc;
  std::vector<Field> fields = {};
  std::vector<std::string> choices = {};
  bool required = false;
};

inline Field required(Field field) {
  field.required = true;
  return field;
}

// Of what a verb prints with --json: "energy", "train", "place", "graph"; empty for any other name.
std::vector<Field> result_fields(std::string_view verb);

}  // namespace orrery::report
