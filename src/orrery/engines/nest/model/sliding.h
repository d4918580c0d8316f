// Traffic of nests whose dataspaces slide: a rank that adds two iterating dimensions (convolution
// windows), where consecutive tiles overlap and the closed form does not hold.
#pragma once

#include <vector>

#include "orrery/describe/machine/chip.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/mapping.h"
#include "orrery/engines/nest/model/traffic.h"
#include "orrery/engines/nest/space/mapspace.h"

namespace orrery::nest {

// Fills `out` as closed_form does; equal to it wherever both apply. With the chip in `linked`, neighbours on its grids
// hand words to each other (links.h). Throws InputError (O1010) where a dataspace has too many ranks that move.
void sliding(const workload::Einsum& einsum, const Shape& shape, const Mapping& mapping,
             const std::vector<ReuseRules>& reuse, Traffic& out, const machine::Chip* linked = nullptr);

}  // namespace orrery::nest
