// Reading a verb's options for its question alone, as sweeps do.
#pragma once

#include <sstream>

#include "orrery/cli/command_line.h"
#include "orrery/cli/console.h"

namespace orrery::verbs {

// Takes what a verb would print, and shows nothing.
struct QuietConsole : private std::ostringstream, Console {
  QuietConsole() : Console{static_cast<std::ostringstream&>(*this), static_cast<std::ostringstream&>(*this)} {}
  std::string text() const { return str(); }
};

[[noreturn]] inline void refuse_help() {
  misuse("O1101", "`--help` in a question", "leave it out");
}

}  // namespace orrery::verbs
