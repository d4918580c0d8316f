// A mapping as loops, in the forms that Timeloop prints.
#pragma once

#include <string>

#include "orrery/describe/machine/chip.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/evaluation.h"
#include "orrery/engines/nest/model/mapping.h"

namespace orrery::formats::timeloop {

// Timeloop's `map.txt`: storages outer to inner with the words of each kept dataspace that one instance
// holds, loops of more than one iteration below them.
std::string map_text(const workload::Einsum& einsum, const machine::Chip& chip, const nest::Mapping& mapping,
                     const nest::Evaluation& evaluation);

// Timeloop's form in one line, outer to inner: "L3[WIO] D256 - L2[WI] L2 - L1[] D1 E16X".
std::string one_line(const workload::Einsum& einsum, const nest::Mapping& mapping);

// The same with names of levels, fan-outs by their containers: "DRAM[WIO] D256 - Buffer[WI] L2 - Columns E16X".
std::string one_line(const workload::Einsum& einsum, const nest::Mapping& mapping, const machine::Chip& chip);

}  // namespace orrery::formats::timeloop
