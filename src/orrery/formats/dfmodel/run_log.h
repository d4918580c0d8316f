// DFModel's log of a run, line by line, so that scripts made for it keep working.
#pragma once

#include <string>

#include "orrery/engines/dataflow/search/optimize.h"

namespace orrery::formats::dfmodel {

// `name value` per line, arrays as `name[i] value`, numbers as Python prints floats. Terms that do not bind are the
// model's own, not a solver's slack. Needs `placement.mapping`.
std::string run_log(const dataflow::Setup& setup, const dataflow::Placement& placement,
                    const dataflow::Defects& defects);

}  // namespace orrery::formats::dfmodel
