// The whole program but for main(): parse, act, turn exceptions into exit codes.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace orrery::verbs {

// `arguments` without the program's name. `terminal`: `err` is one.
int run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err, bool terminal);

// From here on signals end the program with 130, and a message as the command line asks for it.
void end_on_signals(const std::vector<std::string>& arguments);

}  // namespace orrery::verbs
