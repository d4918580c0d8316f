// `--why "Scratchpad.E=4"`: one choice of a mapping, as a constraint.
#pragma once

#include <string>

#include "orrery/describe/machine/chip.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/space/mapspace.h"

namespace orrery::verbs {

// Reads
//   LEVEL.DIM=VALUE, LEVEL.DIM<=VALUE, LEVEL.DIM>=VALUE   a factor: temporal at a storage, spatial at a container
//                                                         that fans out; LEVEL.spatial.DIM=VALUE and
//                                                         LEVEL.temporal.DIM=VALUE say which
//   LEVEL.keep=DATASPACE, LEVEL.bypass=DATASPACE
// The constraint's place lies in a text called `<--why>`. Throws InputError (O1116) when the text has another
// form or names what the chip or the einsum does not have.
nest::Constraint forced_choice(const std::string& text, const workload::Einsum& einsum, const machine::Chip& chip);

}  // namespace orrery::verbs
