// The verbs. Each owns its options, help and example in a file of its own; a verb is that file and a row in verbs.cc.
#pragma once

#include <string>
#include <vector>

#include "orrery/cli/command_line.h"
#include "orrery/cli/console.h"

namespace orrery::verbs {

struct Verb {
  const char* name;
  const char* heading;  // of the help; verbs of one heading stand together
  const char* summary;
  VerbFunction* run;
};
const std::vector<Verb>& verbs();

// What `orrery --help` prints, and what `orrery` alone prints: the three commands to try first.
std::string help();
std::string first_steps();

}  // namespace orrery::verbs
