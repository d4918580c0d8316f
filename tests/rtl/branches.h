// Which ways its decisions went.
#pragma once

#include "tests/rtl/cosim.h"

namespace orrery::rtl {

// Branches, by FILE:LINE and the kind of each, once for all instances of a module: an `if` and what is done else, written or
// not, each arm of a `case`.
Reached branches(Unit& unit);

}  // namespace orrery::rtl
