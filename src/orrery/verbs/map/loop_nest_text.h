// A mapping as loops: the close look of `--layer`.
#pragma once

#include <string>

#include "orrery/engines/nest/model/evaluation.h"
#include "orrery/formats/timeloop/documents/map_text.h"
#include "orrery/inputs/layers/map_model.h"

namespace orrery::verbs {

using formats::timeloop::map_text;
using formats::timeloop::one_line;

// The loop nest, a bar of energy for each level (pJ for one multiply-accumulate, share of the layer), the
// level whose bandwidth bounds the run, and the totals. For a layer that has a mapping.
std::string layer_view(const MappedLayer& layer);

// Storage whose bandwidth makes the run longer than the compute units need: the one that needs the most
// cycles; -1 when none does.
int binding_level(const nest::Evaluation& evaluation);

}  // namespace orrery::verbs
