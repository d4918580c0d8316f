// A verb that has verbs of its own: `orrery tune run`, `orrery sparse measure`.
#pragma once

#include <span>

#include "orrery/cli/command_line.h"
#include "orrery/cli/console.h"

namespace orrery::verbs {

struct SubVerb {
  const char* name;
  const char* summary;
  VerbFunction* run;
};

struct SubVerbs {
  const char* verb;
  const char* summary;
  std::span<const SubVerb> all;  // the first one's options describe the verb to shells
  const char* example;
};

// Runs the one that the first argument names, or shows them all. Throws InputError O1101 for another name.
int run_sub_verb(const SubVerbs& verbs, const Arguments& arguments, Console& console);

}  // namespace orrery::verbs
