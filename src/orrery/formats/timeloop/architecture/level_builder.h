// Components, outermost first -> machine::Chip.
#pragma once

#include <map>
#include <span>
#include <string>

#include "orrery/describe/machine/chip.h"
#include "orrery/formats/timeloop/architecture/architecture_component.h"

namespace orrery::formats::timeloop {

// What the components are for.
enum class Purpose {
  kMapping,   // a chip that something can be mapped onto
  kEstimate,  // energies and areas of each component: storages or a compute may be missing, and others be there
};

// Components that are not part of a chip for mappings (Purpose::kEstimate): how many there are of each.
using Apart = std::map<std::string, base::Count, std::less<>>;

// The innermost component is the compute, networks stand aside, the others are storages. Reference: how
// Timeloop turns attributes into levels. Errors O0303 to O0308, O0320, O0321, and those of machine::check.
machine::Chip build_levels(std::span<const Component> components, Purpose purpose, Apart& apart,
                           base::Diagnostics& found);

}  // namespace orrery::formats::timeloop
