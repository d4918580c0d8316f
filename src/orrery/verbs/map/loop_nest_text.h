// A mapping as loops: the close look of `--layer`.
#pragma once

#include <string>

#include "orrery/engines/nest/model/evaluation.h"
#include "orrery/formats/timeloop/documents/map_text.h"
#include "orrery/inputs/layers/layer_figures.h"
#include "orrery/inputs/layers/map_model.h"

namespace orrery::verbs {

using formats::timeloop::map_text;
using formats::timeloop::one_line;

// The loop nest, a bar of energy for each level (pJ for one multiply-accumulate, share of the layer), the
// level whose bandwidth bounds the run, and the totals. For a layer that has a mapping.
std::string layer_view(const MappedLayer& layer);

std::string shown_watts(double watts);

// A mapping of it in one line; `as_timeloop`: as Timeloop prints it, else with names of levels.
std::string mapping_line(const MappedLayer& layer, const nest::Mapping& mapping, bool as_timeloop);

}  // namespace orrery::verbs
