// An architecture and its component classes -> what is to be estimated.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/diagnostic.h"
#include "orrery/energy/component.h"
#include "orrery/energy/options.h"
#include "orrery/formats/timeloop/architecture.h"
#include "orrery/formats/timeloop/component_class.h"

namespace orrery::formats::timeloop {

// One component for each storage, fan-out, network and the compute, primitives before compounds, each in the order of
// the document, as Accelergy's tables have them. Networks of a class that nobody describes and that Timeloop prices by
// hops (Legacy, XY_NoC, ...) are left out. Errors of compound.h and O02xx, each said once.
std::vector<energy::Component> energy_components(const Architecture& architecture, ComponentClasses& classes,
                                                 const energy::EstimateOptions& options, base::Diagnostics& found);

// Components with a primitive that lacks attribute `key`, and that cannot be estimated without: all but DRAM (for
// `technology`) and free fan-outs.
std::vector<std::string> lacking(const std::vector<energy::Component>& components, std::string_view key);

}  // namespace orrery::formats::timeloop
