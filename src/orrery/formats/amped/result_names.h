// What the equations come to, by the names that results carry.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "orrery/cluster/amped_equations.h"

namespace orrery::formats::amped {

using NamedNumbers = std::vector<std::pair<std::string, double>>;

// Derived quantities: all but the stated ones that are known, by AMPeD's names ("dp", "tp", "pp" for the degrees and
// "..._GB" for memory among them).
NamedNumbers derived(const cluster::AmpedQuantities& quantities);

// Times: "U_f" (seconds of a layer's forward pass with the whole global batch on one accelerator), "M_f" (communication
// of it), "W_bubble", "iteration_time_s", "total_time_to_train_s", "days", ...
NamedNumbers outputs(const cluster::AmpedTimes& times);

}  // namespace orrery::formats::amped
