// Warnings that say the same of many places, shown once.
#pragma once

#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::verbs {

// `found` without the warnings that are like an earlier one of the same file: same code, same sentence, other names and
// numbers. The earlier one gets a note that counts them and names the first few. Up to three alike stay as they are,
// and errors do: each has to be mended. Of messages that are equal in every word, the first stays.
std::vector<base::Diagnostic> fold_alike(const std::vector<base::Diagnostic>& found);

}  // namespace orrery::verbs
