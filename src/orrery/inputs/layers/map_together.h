// Layers that share one limit in seconds.
#pragma once

#include <cstddef>
#include <vector>

#include "orrery/inputs/layers/layer_question.h"
#include "orrery/inputs/layers/map_model.h"

namespace orrery::verbs {

// As map_layers, but that `limits.seconds` counts for all layers together: each has its part of what is left of them.
// Questions from index `needed` on are not searched, and have no mapping, once that time is up or a signal came.
MappedModel map_layers_together(const std::vector<LayerQuestion>& questions, const MapOptions& options,
                                std::size_t needed);

}  // namespace orrery::verbs
