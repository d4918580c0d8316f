// Number formats of a chip that has several: `orrery.precisions: {bf16: 16, fp8: 8}` in its file. Widths, capacities in
// words, bandwidths and meshes are written in terms of `variables.precision_bits` there, and its tables hold for all.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/text/override.h"

namespace orrery::verbs {

// Sets the variable to what the format has on the chips that have several. Throws InputError O1102 where none has it.
void choose_precision(const std::vector<std::string>& chips, const std::string& name, base::Overrides& set);

// `set` without that variable: tables need not be made for it.
base::Overrides without_precision(base::Overrides set);

}  // namespace orrery::verbs
