// An architecture and its component classes -> what is to be estimated.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/energy/component.h"
#include "orrery/describe/energy/energy_options.h"
#include "orrery/formats/timeloop/architecture/architecture.h"
#include "orrery/formats/timeloop/components/component_class.h"

namespace orrery::formats::timeloop {

// One component for each storage, fan-out, network and the compute, primitives before compounds, each in the order of
// the document, as Accelergy's tables have them. `energies_required`: a level that the model could not price for want
// of an action is an error (O1215, O1223). Networks of a class that nobody describes and that Timeloop prices by
// hops (Legacy, XY_NoC, ...) are left out. Errors of compound.h and O02xx, each said once.
std::vector<energy::Component> energy_components(const Architecture& architecture, ComponentClasses& classes,
                                                 const energy::EstimateOptions& options, bool energies_required,
                                                 base::Diagnostics& found);

// Components with a primitive that lacks attribute `key`, and that cannot be estimated without: all but DRAM (for
// `technology`) and free fan-outs.
std::vector<std::string> lacking(const std::vector<energy::Component>& components, std::string_view key);

}  // namespace orrery::formats::timeloop
