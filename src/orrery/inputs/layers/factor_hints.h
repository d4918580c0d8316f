// Layers whose sizes divide badly: a glance at mappings near their own with other factors.
#pragma once

#include <cstddef>
#include <vector>

#include "orrery/inputs/layers/map_model.h"

namespace orrery::verbs {

// O1957 for each of the layers `work` whose proven answer other factors beat by much.
void suggest_factors(const std::vector<LayerQuestion>& questions, const std::vector<std::size_t>& work,
                     const MapOptions& options, int threads, MappedModel& result);

}  // namespace orrery::verbs
