// What `place` is asked.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "orrery/base/text/override.h"
#include "orrery/engines/dataflow/model/defects.h"
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

}  // namespace orrery::verbs
