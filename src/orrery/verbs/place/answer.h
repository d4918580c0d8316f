// What `place` answers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/numbers/count.h"
#include "orrery/engines/dataflow/model/defects.h"
#include "orrery/engines/dataflow/model/setup.h"
#include "orrery/engines/dataflow/search/optimize.h"
#include "orrery/verbs/place/place_model.h"

namespace orrery::verbs {

struct PlacedGraph {
  std::string title;               // of the workload: "language model", ...
  std::string timed = "cores";     // what timed products: "cores", "utilization", "measurements", "roofline", "chip"
  std::string chip;                // in the place of the system's accelerator; empty: none
  base::Count searched = 0;        // products whose mapping onto it was searched
  bool told_to_stop = false;       // an interrupt ended the search, not a limit
  std::string not_looked_at;       // which placements the question leaves out; empty: none
  std::vector<std::string> notes;  // what of the model is placed, and what its kernels do not show
  dataflow::Setup setup;
  dataflow::Defects defects;  // of a generation of DFModel
  dataflow::Placement placement;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
  std::vector<base::Diagnostic> reasons;  // why nothing fits, with places
};

// What place() asks the engine.
struct PlaceQuestion {
  std::shared_ptr<const PlacedModelQuestion> model;  // null: a setup is placed
  dataflow::Setup setup;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

// What a setup holds, a line each. Throws InputError for what place() refuses before it searches.
struct CheckedSetup {
  std::vector<std::string> contents;
  base::Diagnostics warnings;
};

}  // namespace orrery::verbs
