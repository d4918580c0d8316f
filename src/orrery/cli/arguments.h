// The command line, parsed. The only door to CLI11, which arguments.cc hides.
#pragma once

#include <string>
#include <vector>

#include "orrery/cli/options.h"

namespace orrery::cli {

// `arguments` without the program's name. Throws base::InputError: O1100 (no such verb), O1101 (no such
// option, missing or superfluous arguments), O1102 (a value that an option cannot take). `colour` is left
// false unless `terminal` and neither --no-color nor NO_COLOR speak against it.
Command parse_arguments(const std::vector<std::string>& arguments, bool terminal);

}  // namespace orrery::cli
