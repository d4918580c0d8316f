// What hardware that knows zeros does with a layer's accesses: a table for the close look, and a part of its JSON.
#pragma once

#include <string>

#include "orrery/inputs/layers/map_model.h"
#include "orrery/present/record.h"

namespace orrery::verbs {

// Accesses of each tensor at each storage, outermost first, those that happen, are gated and are skipped, with their
// metadata. For a layer whose `sparse` is set.
std::string sparse_view(const MappedLayer& layer);

// The key `sparse`, only of such layers.
Record<MappedLayer> sparse_record();

}  // namespace orrery::verbs
