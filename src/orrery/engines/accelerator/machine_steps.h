// The whole machine, a cycle at a time: every unit's registers, the controller's counters, the memories' banks. The
// reference that timeline.h and calculate.h are held against; some ten times slower.
//
// In each cycle the controller looks at what had ended before it, starts what may start, and every unit that works
// takes a step. Banks remember whose data they hold, and whoever reads checks it.
#pragma once

#include "orrery/engines/accelerator/simulate.h"

namespace orrery::accelerator {

struct SteppedRun {
  Count cycles = 0;
  std::array<Count, kUnits> busy{};
  Count blocks = 0;
  Memories memories{};
  std::vector<std::int32_t> outputs;  // [matrix][query][depth]
  std::optional<masks::Mask> predicted;
  Saturated saturated;  // codes, scores and outputs
};

// The work has numbers.
SteppedRun stepped_run(const Instance& instance, const Work& work);

}  // namespace orrery::accelerator
