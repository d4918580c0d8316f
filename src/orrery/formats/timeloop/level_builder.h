// Components, outermost first -> machine::Chip.
#pragma once

#include <span>

#include "orrery/formats/timeloop/component.h"
#include "orrery/machine/chip.h"

namespace orrery::formats::timeloop {

// The innermost component is the compute, networks stand aside, the others are storages. Reference: how
// Timeloop turns attributes into levels. Errors O0303 to O0308, O0320, O0321, and those of machine::check.
machine::Chip build_levels(std::span<const Component> components, base::Diagnostics& found);

}  // namespace orrery::formats::timeloop
