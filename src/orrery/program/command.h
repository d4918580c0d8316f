// The whole program but for main(): parse, act, turn exceptions into exit codes.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace orrery::verbs {

// `arguments` without the program's name. `terminal`: `err` is one.
int run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err, bool terminal);

}  // namespace orrery::verbs
