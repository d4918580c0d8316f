// The clock of descriptions that do not call it `global_cycle_seconds`.
#pragma once

#include <optional>

#include "orrery/formats/timeloop/architecture/architecture_component.h"

namespace orrery::formats::timeloop {

// Seconds of a cycle, and the attribute that says so.
struct Clock {
  double seconds = 0;
  const yaml::Node* latency = nullptr;
};

// `latency: 5ns`, as descriptions for Accelergy 0.2 and 0.3 have it, of the innermost node that has one. A number
// without a unit is no clock: many descriptions give latencies in cycles.
std::optional<Clock> clock_of_latency(const AttributeFrame& frame);

// What Accelergy's tables take where an older description says nothing.
inline constexpr double kOldClockSeconds = 5e-9;

}  // namespace orrery::formats::timeloop
