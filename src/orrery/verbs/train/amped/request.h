// What `train amped` is asked.
#pragma once

#include <string>

#include "orrery/base/text/override.h"
#include "orrery/engines/amped/quantities.h"
#include "orrery/engines/amped/search.h"

namespace orrery::verbs {

struct AmpedRequest {
  std::string config;         // config.json, or the flat parameters
  bool flat = false;          // `config` is those
  std::string lookup_tables;  // empty: none
  base::Overrides overrides;  // parameters and `equations.`, value
  amped::Defects defects;     // of AMPeD's equations, to be reproduced
  bool search = false;        // all permutations of batch size and degrees
};

}  // namespace orrery::verbs
