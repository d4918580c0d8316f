// Components of compound classes, taken apart to the primitives that estimators know.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/energy/component.h"
#include "orrery/describe/energy/energy_options.h"
#include "orrery/formats/timeloop/components/component_class.h"
#include "orrery/formats/timeloop/expressions/expression_value.h"

namespace orrery::formats::timeloop {

// What a component of the architecture adds to its class.
struct ComponentDemands {
  std::string class_name;                     // the class that is estimated
  std::vector<std::string> required_actions;  // must be there; a primitive has these and no others
  double energy_scale = 1;
  double area_scale = 1;
  // Accelergy since 0.4: actions of primitives have the cycle's length and the latency among their arguments.
  bool cycle_is_argument = true;
};

// Fills `attributes` (with defaults of the class and those that Accelergy propagates), `primitives` and `actions` of
// `component`, whose name, attributes and place are given. Returns whether its class is a compound.
// Errors O1212 to O1219 and O1222, warnings O1220 and O1221.
bool take_apart(const ComponentDemands& demands, ComponentClasses& classes, const energy::EstimateOptions& options,
                energy::Component& component, base::Diagnostics& found);

// The product of the factors in `scope`. A share counts or not, as the options say; either way warning O1220 tells its
// effect on `what`. Error O1222 for a negative one.
double product(std::span<const Multiplier> factors, const Scope& scope, std::string_view what,
               const energy::EstimateOptions& options, base::Diagnostics& found);

}  // namespace orrery::formats::timeloop
