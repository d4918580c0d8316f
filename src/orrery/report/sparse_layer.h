// What hardware that knows zeros does with a layer's accesses: a table for the close look, and a part of its JSON.
#pragma once

#include <string>

#include "orrery/report/record.h"
#include "orrery/scenario/map_model.h"

namespace orrery::report {

// Accesses of each tensor at each storage, outermost first, those that happen, are gated and are skipped, with their
// metadata. For a layer whose `sparse` is set.
std::string sparse_view(const scenario::MappedLayer& layer);

// The key `sparse`, only of such layers.
Record<scenario::MappedLayer> sparse_record();

}  // namespace orrery::report
