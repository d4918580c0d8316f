// A problem whose dimensions a catalogue chip does not know.
//
// The constraints of a chip that comes along name the dimensions of a matrix product. A problem that calls its
// own otherwise makes a fault of each of their lines, in a file that is not the user's to edit: one message
// says it all, with the ways out.
#pragma once

#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::verbs {

// `found` with all O0505 that point into one file of the catalogue as one; the others as they are.
std::vector<base::Diagnostic> fold_dimension_names(const std::vector<base::Diagnostic>& found);

}  // namespace orrery::verbs
