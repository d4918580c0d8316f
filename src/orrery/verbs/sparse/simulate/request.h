// What `sparse simulate` is asked.
#pragma once

#include <functional>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/masks/packing/packing.h"
#include "orrery/verbs/sparse/accelerator_run.h"

namespace orrery::verbs {

struct SimulateRequest {
  ArrayCasesRequest input;
  ArrayChoice choice;
  masks::PackEffort effort;
  bool cpu = false;             // measure attention here, too
  std::size_t most_events = 0;  // of the trace; 0: none is wanted
  base::Limits limits;
  std::function<void(std::size_t done, std::size_t all)> progress;
};

}  // namespace orrery::verbs
