// What `check` answers.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::verbs {

struct Checked {
  std::vector<std::string> contents;  // a line each
  base::Diagnostics warnings;
};

}  // namespace orrery::verbs
