// A chip seen from outside: what a cluster knows of its accelerators.
#pragma once

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/machine/chip.h"
#include "orrery/describe/machine/operator_model.h"

namespace orrery::machine {

// The port of the outermost storage, all instances, in bytes/s.
struct MemoryPort {
  double bytes_per_s = 0;     // of a stream that is half read and half written; 0: unlimited
  double pj_per_byte = 0;     // of such a stream
  double capacity_bytes = 0;  // 0: unlimited
};
MemoryPort memory_port(const Chip& chip);

// Peaks are those of its compute units, two operations in a cycle each, whatever the precision: a chip computes on the
// words that it has. Of its storages inside, the largest level is the memory on the chip. What it does not say (a
// capacity) and what no chip says (the host's time for an operator) is `otherwise`'s. Finds a chip without a memory
// port: nothing outermost, or one whose bandwidth is not stated (O1390).
Accelerator accelerator_of(const Chip& chip, const Accelerator& otherwise, base::Diagnostics& found);

}  // namespace orrery::machine
