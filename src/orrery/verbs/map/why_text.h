// What a forced choice costs: the optimum beside the best mapping that `--why` allows.
#pragma once

#include <string>
#include <vector>

#include "orrery/inputs/layers/map_model.h"

namespace orrery::verbs {

// Forced over best. 1 where both are 0.
struct CostRatio {
  double energy = 1;
  double cycles = 1;
  double edp = 1;
};

// A storage, the compute units or a network whose energy the choice changes by more than rounding.
struct LevelDifference {
  std::string name;
  double best_pj = 0;
  double forced_pj = 0;
};

// All three need a layer with a mapping and with a forced one.
CostRatio ratio_to_best(const MappedLayer& layer);
std::vector<LevelDifference> level_differences(const MappedLayer& layer);  // outer to inner

// A table of energy, cycles, EDP and the levels that differ, and the forced mapping in one line.
std::string why_view(const MappedLayer& layer, bool as_timeloop = false);

}  // namespace orrery::verbs
