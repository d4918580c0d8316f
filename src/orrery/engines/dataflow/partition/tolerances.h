// What all searches of this engine take for equal, and for impossible.
#pragma once

#include <limits>

namespace orrery::dataflow {

inline constexpr double kTie = 1e-12;  // sums this close, relative, are equal; price() forgives as much in DRAM
inline constexpr double kNever = std::numeric_limits<double>::infinity();  // the time of what cannot be

}  // namespace orrery::dataflow
