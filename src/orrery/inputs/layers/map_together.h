// Layers that share one limit in seconds.
#pragma once

#include <vector>

#include "orrery/inputs/layers/layer_question.h"
#include "orrery/inputs/layers/map_model.h"

namespace orrery::verbs {

// As map_layers, but that `limits.seconds` counts for all layers together: each has its part of what is left of them.
MappedModel map_layers_together(const std::vector<LayerQuestion>& questions, const MapOptions& options);

}  // namespace orrery::verbs
