// What the equations come to, by the names that results carry.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "orrery/engines/amped/equations.h"

namespace orrery::formats::amped {

namespace equations = ::orrery::amped;

using NamedNumbers = std::vector<std::pair<std::string, double>>;

// Derived quantities: all but the stated ones that are known, by AMPeD's names ("dp", "tp", "pp" for the degrees and
// "..._GB" for memory among them).
NamedNumbers derived(const equations::Quantities& quantities);

// Times: "U_f" (seconds of a layer's forward pass with the whole global batch on one accelerator), "M_f" (communication
// of it), "W_bubble", "iteration_time_s", "total_time_to_train_s", "days", ...
NamedNumbers outputs(const equations::Times& times);

}  // namespace orrery::formats::amped
