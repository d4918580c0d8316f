// What `train amped` answers.
#pragma once

#include <optional>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/engines/amped/equations.h"
#include "orrery/engines/amped/search.h"
#include "orrery/formats/amped/amped_parameters.h"

namespace orrery::verbs {

struct AmpedRun {
  formats::amped::Resolved resolved;
  amped::Model model;
  amped::Times times;
  std::optional<amped::Space> space;  // with a search
  amped::Search search;
  std::vector<std::string> compat;  // originals whose defects are reproduced
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;

  // Memory of an accelerator (GB); 0: unknown, so that everything fits.
  double capacity_gb() const;
  bool fits() const;
};

}  // namespace orrery::verbs
