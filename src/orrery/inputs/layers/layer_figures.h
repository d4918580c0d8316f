// What an architect asks of a layer beside its cost: time, what binds it, and where it stands under the roofline of the
// chip's peak and its outermost storage's bandwidth.
#pragma once

#include <optional>
#include <string>

#include "orrery/inputs/layers/map_model.h"

namespace orrery::verbs {

// Of one instance.
struct LayerFigures {
  double seconds = 0;
  double power_w = 0;                         // energy over time, leakage included
  std::optional<double> operations_per_byte;  // of what the mapping moves through the outermost storage's port
  double roofline_share = 0;  // of the cycles, those that peak or outermost bandwidth alone would take: 1, at the roof
  std::string bound_by;       // the level whose bandwidth sets the cycles, or the compute units
};
// Of a layer that has a mapping.
LayerFigures figures_of(const MappedLayer& layer);

// The level whose bandwidth sets the cycles: the one that needs most of those that slow the compute units; -1: none
// does.
int binding_level(const nest::Evaluation& evaluation);

}  // namespace orrery::verbs
