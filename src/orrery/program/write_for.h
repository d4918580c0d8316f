// The manual page and the shells' completions, written from what the verbs themselves declare.
#pragma once

#include "orrery/cli/command_line.h"

namespace orrery::verbs {

// `orrery write-for man|bash|zsh|fish`: what the installation asks, and no help mentions.
int write_for(const Arguments& arguments, Console& console);

}  // namespace orrery::verbs
