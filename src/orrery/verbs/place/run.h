// A placement, from what the user said to its times: DFModel's setup file becomes a question, the dataflow engine
// answers it, and what cannot be placed is explained with the lines it came from.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/text/override.h"
#include "orrery/engines/dataflow/search/optimize.h"
#include "orrery/verbs/place/place_model.h"

namespace orrery::verbs {

struct PlaceRequest {
  std::string path;           // setup.txt, or a folder with user_input/setup.txt; empty: `model` says what is placed
  PlaceModelRequest model;    // a model on a system, in the place of a setup file
  dataflow::Defects defects;  // of a generation of DFModel
  bool joint = false;         // sharding and partition together; the corrected formulas only
  base::Overrides overrides;
  std::string measurements;      // table of matrix products that were timed; empty: the chip's peak
  dataflow::PlaceLimits limits;  // `seconds`, `gap`, `threads` 0: as the file says
  // Asked once, when all is read: the flag that ends the search. Until then a signal ends the program at once, even one
  // that waits for a pipe.
  std::function<const std::atomic<bool>*()> interruptible;
};

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

// Reads it; throws what place() throws before it searches. Neither a chip nor measurements are looked at.
PlaceQuestion read_place(const PlaceRequest& request);

// Throws InputError for what the reader and the engine refuse, O1465 where neither a setup nor a model is given or
// both, O1393 for overrides of what the system or the chip says, and what place_model says. A setup that nothing fits
// is an answer, not an error.
PlacedGraph place(const PlaceRequest& request);

// What a setup holds, a line each. Throws InputError for what place() refuses before it searches.
struct CheckedSetup {
  std::vector<std::string> contents;
  base::Diagnostics warnings;
};
CheckedSetup check_setup(const std::string& path, const base::Overrides& overrides = {});

// Why there is no placement: what is contradictory, or O1461 where the search ended before it knew.
std::vector<base::Diagnostic> explain_no_placement(const PlacedGraph& placed);

}  // namespace orrery::verbs
