#pragma once

#include <sstream>

#include "orrery/cli/command_line.h"

namespace orrery::verbs {

// Takes what a verb's options say of output, and shows nothing.
struct QuietConsole : private std::ostringstream, Console {
  QuietConsole() : Console{static_cast<std::ostringstream&>(*this), static_cast<std::ostringstream&>(*this)} {}
};

[[noreturn]] inline void refuse_help() {
  misuse("O1101", "`--help` in a question", "leave it out");
}

}  // namespace orrery::verbs
