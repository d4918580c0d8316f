// What is wrong with the input, for programs: schema "orrery.error/1".
#pragma once

#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::verbs {

// Every diagnostic, warnings included, in the order found; the same one twice is listed once. Indented, ending in a
// newline. Texts that are no UTF-8 are repaired with U+FFFD.
std::string error_json(const std::string& version, const std::vector<base::Diagnostic>& diagnostics);

}  // namespace orrery::verbs
