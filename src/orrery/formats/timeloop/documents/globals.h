// `globals`: what the front end passes to Timeloop's process besides the documents.
#pragma once

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

// O1951 for each of `environment_variables` that would change a figure and has no counterpart here. Those that only say
// what is printed are passed over.
void warn_of_environment(const yaml::Node& globals, base::Diagnostics& found);

}  // namespace orrery::formats::timeloop
