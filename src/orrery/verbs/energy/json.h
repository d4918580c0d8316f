// The JSON document of `energy`: schema "orrery.energy/1". The keys are a contract with users' scripts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/describe/energy/estimate.h"

namespace orrery::verbs {

struct EnergyDocument {
  std::string version;
  std::vector<base::Input> inputs;
  const std::vector<energy::EstimatedComponent>* components = nullptr;  // borrowed
  const base::Diagnostics* warnings = nullptr;                          // borrowed
  double seconds = 0;                                                   // wall clock of the whole command
  std::vector<std::string> compat;                                      // originals reproduced, defects included
};

// Indented, ending in a newline; doubles round-trip exactly. All but `timing` is a pure function of the input.
std::string energy_json(const EnergyDocument& document);

}  // namespace orrery::verbs
