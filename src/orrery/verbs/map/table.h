// The tables that `map` and `eval` print.
#pragma once

#include <string>
#include <vector>

#include "orrery/inputs/layers/map_model.h"
#include "orrery/verbs/map/run.h"

namespace orrery::verbs {

// One row a layer; totals of one block and, when there are several, of all blocks. Energies in uJ. All figures are
// modelled. `selected`: the one layer of a model that was asked for, whose totals are
// no block's. Totals that lack layers say of how many they are. What an array does stands among the layers.
std::string model_table(const std::vector<MappedLayer>& layers, base::Count blocks, const std::string& selected = {},
                        const ArrayAttention& attention = {});

// Time, rate, power and area of all together, as far as they are known, and what the layers of a model are; nothing
// where a layer has no mapping.
std::string whole_lines(const MapAnswer& answer);

// What of a model is not mapped, and its share of the products; a line, or nothing.
std::string left_out_line(const MappedWork& work);

// The trade-off of a layer that has a front: one row a point, energy rising, then the mappings in one line each; says
// when points may be missing.
std::string front_table(const MappedLayer& layer, bool as_timeloop = false);

}  // namespace orrery::verbs
