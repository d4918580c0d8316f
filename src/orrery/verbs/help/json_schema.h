// JSON Schemas (draft-07): of the documents that Orrery reads, for editors, and of those that its verbs print, for
// programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery::verbs {

// What is read: "chip", "problem", ...; then what is printed: "map", "eval", ..., "error".
const std::vector<std::string>& schema_names();

// The schema of one of them, indented; "" for an unknown name.
std::string json_schema(std::string_view name);

}  // namespace orrery::verbs
