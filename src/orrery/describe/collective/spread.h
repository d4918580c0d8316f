// Groups that are no evenly spaced run: runs of ranks, some way apart from each other.
#pragma once

#include "orrery/describe/collective/collective.h"

namespace orrery::collective {

// place() of `copies` runs of `ranks` ranks that are `stride` apart; the first ranks of two runs are `apart`.
Group place(const Fabric& fabric, int ranks, int stride, int copies, int apart);

}  // namespace orrery::collective
