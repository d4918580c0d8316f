// A mapping as loops: the forms that Timeloop prints, and the close look of `--layer`.
#pragma once

#include <string>

#include "orrery/machine/chip.h"
#include "orrery/nest/evaluation.h"
#include "orrery/nest/mapping.h"
#include "orrery/scenario/map_model.h"
#include "orrery/workload/einsum.h"

namespace orrery::report {

// Timeloop's `map.txt`: storages outer to inner with the words of each kept dataspace that one instance
// holds, loops of more than one iteration below them.
std::string map_txt(const workload::Einsum& einsum, const machine::Chip& chip, const nest::Mapping& mapping,
                    const nest::Evaluation& evaluation);

// Timeloop's form in one line, outer to inner: "L3[WIO] D256 - L2[WI] L2 - L1[] D1 E16X".
std::string one_line(const workload::Einsum& einsum, const nest::Mapping& mapping);

// The loop nest, a bar of energy for each level (pJ for one multiply-accumulate, share of the layer), the
// level whose bandwidth bounds the run, and the totals. For a layer that has a mapping.
std::string layer_view(const scenario::MappedLayer& layer);

// Storage whose bandwidth makes the run longer than the compute units need: the one that needs the most
// cycles; -1 when none does.
int binding_level(const nest::Evaluation& evaluation);

}  // namespace orrery::report
