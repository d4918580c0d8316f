// The JSON document of `place`: schema "orrery.place/1". The keys are a contract with users' scripts.
#pragma once

#include <string>

#include "orrery/verbs/place/run.h"

namespace orrery::verbs {

struct PlaceDocument {
  std::string version;
  const PlacedGraph* placed = nullptr;  // borrowed
  double seconds = 0;                   // wall clock of the whole command
};

// Indented, ending in a newline; doubles round-trip exactly. All but `timing` and `certificate.seconds` is a pure
// function of the input. `result` is null where there is no placement.
std::string place_json(const PlaceDocument& document);

}  // namespace orrery::verbs
