// The table that `energy` prints: figures of one instance of each component, and where each comes from.
#pragma once

#include <string>
#include <vector>

#include "orrery/describe/energy/estimate.h"

namespace orrery::verbs {

// A row for each area and action, entries of one action with equal energies in one; the sources are numbered and
// listed below with their basis, so that no two kinds of figures look alike.
std::string energy_table(const std::vector<energy::EstimatedComponent>& components);

}  // namespace orrery::verbs
