// The JSON document of `graph`: schema "orrery.graph/1". The keys are a contract with users' scripts.
#pragma once

#include <string>

#include "orrery/inputs/graphs/generate_graph.h"

namespace orrery::verbs {

struct GraphDocument {
  std::string version;
  const GeneratedGraph* generated = nullptr;  // borrowed
  double seconds = 0;                         // wall clock of the whole command
};

// Indented, ending in a newline; doubles round-trip exactly. All but `timing` is a pure function of the input.
std::string graph_json(const GraphDocument& document);

}  // namespace orrery::verbs
