// Messages that say the same of several places, as one.
#pragma once

#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::base {

// Each message stands where it was first said, and shows the next places where the same holds; how many more there are
// is counted.
std::vector<Diagnostic> once_each(const std::vector<Diagnostic>& found);

}  // namespace orrery::base
