// The JSON documents of `map` and `eval`: schemas "orrery.map/1" and "orrery.eval/1". The keys are a
// contract with users' scripts.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/inputs/layers/map_model.h"
#include "orrery/verbs/map/fuse_pairs.h"
#include "orrery/verbs/map/run.h"

namespace orrery::verbs {

struct MapDocument {
  std::string verb = "map";  // names the schema
  std::string version;
  const MappedModel* mapped = nullptr;            // borrowed
  const MappedWork* work = nullptr;               // borrowed; of a model
  const std::vector<FusedPair>* fused = nullptr;  // borrowed; with --fuse auto
  base::Count blocks = 0;                         // of a model; 0: no model was named, only layers
  std::string selected;                           // the one layer of the model that was asked for; empty: all of them
  double seconds = 0;                             // wall clock of the whole command
  std::vector<std::string> compat;                // originals reproduced, defects included
};

// Indented, ending in a newline; doubles round-trip exactly. All but `timing` and each certificate's `seconds`
// is a pure function of the input.
std::string map_json(const MapDocument& document);

}  // namespace orrery::verbs
