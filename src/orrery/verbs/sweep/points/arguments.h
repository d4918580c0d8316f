// A point's values as arguments of its verb: paths without a dot are options, the others are `--set`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "orrery/base/text/override.h"

namespace orrery::sweep {

struct SplitPoint {
  std::vector<std::string> options;  // "--seq=512"; "--joint" for the value true, nothing for false
  base::Overrides settings;
};
SplitPoint split(const base::Overrides& point);

// "arch.A.depth=64, seq=512", as messages name a point.
std::string values_text(const base::Overrides& point);

// The words of "tune select", and these.
std::vector<std::string> verb_words(const std::string& verb, const std::vector<std::string>& arguments);

// As it would be typed after `orrery VERB`, quoted where a shell needs it.
std::string command_line(const std::string& verb, const std::vector<std::string>& arguments,
                         const base::Overrides& point);

}  // namespace orrery::sweep
