// The layers of a model in one phase, as tasks for its chips.
#pragma once

#include <vector>

#include "orrery/verbs/map/layers/layer_tasks.h"

namespace orrery::verbs {

// Throws InputError: O1103 and O0913 for phases that are none, and what the catalogue and the readers refuse.
void layers_of_model(const MapRequest& request, const Chips& chips, const std::vector<File>& files,
                     GatheredLayers& out);

}  // namespace orrery::verbs
