// Whether a mapping can run on a chip, and whether it obeys a map space.
#pragma once

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/machine/chip.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/mapping.h"
#include "orrery/engines/nest/space/mapspace.h"

namespace orrery::nest {

// One entry per storage, each with a factor >= 1 and a place in both orders for every dimension, a split
// within them and no dataspace that the einsum lacks.
bool well_formed(const workload::Einsum& einsum, const machine::Chip& chip, const Mapping& mapping);

// Shapes, products of factors, capacity and fan-out: limits of the hardware. Codes O0710 to O0719; the message contains
// the arithmetic ("Accumulator holds 4096 words; this mapping needs 6144 = 16 * 384") and points at the responsible
// directive, if `places` has it.
void check_legal(const workload::Einsum& einsum, const machine::Chip& chip, const Mapping& mapping,
                 const MappingPlaces& places, base::Diagnostics& found);
bool is_legal(const workload::Einsum& einsum, const machine::Chip& chip, const Mapping& mapping);

// The constraints of the map space (`eval --strict`). Codes O0720 to O0724, one per kind; reports nothing for a mapping
// whose shape is wrong, which check_legal reports and is_allowed rejects.
void check_allowed(const workload::Einsum& einsum, const machine::Chip& chip, const Mapping& mapping,
                   const Mapspace& space, base::Diagnostics& found);
bool is_allowed(const workload::Einsum& einsum, const machine::Chip& chip, const Mapping& mapping,
                const Mapspace& space);

}  // namespace orrery::nest
