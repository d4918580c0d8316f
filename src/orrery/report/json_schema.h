// JSON Schemas (draft-07) of the documents that Orrery reads, for editors, and of the results of `energy`, `train` and
// `graph`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery::report {

// "chip", "problem", "constraints", "mapping", "mapper", "ert", "energy", "train", "place", "graph".
const std::vector<std::string>& schema_names();

// The schema of one of them, indented; "" for an unknown name.
std::string json_schema(std::string_view name);

}  // namespace orrery::report
