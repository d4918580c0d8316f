// What `sparse simulate` answers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/numbers/count.h"
#include "orrery/engines/accelerator/instance.h"
#include "orrery/engines/accelerator/simulate.h"
#include "orrery/engines/masks/mask.h"
#include "orrery/verbs/sparse/accelerator_run.h"
#include "orrery/verbs/sparse/simulate/array_beside.h"

namespace orrery::verbs {

// An interval of a run of several cases, which follow one another.
struct TraceEvent {
  accelerator::Interval interval;
  std::size_t one = 0;  // case
};

struct SimulatedCase {
  std::string name;
  masks::MaskShape shape;
  base::Count depth = 0;
  bool predicted = false;
  CaseRun of;
};

struct SparseSimulate {
  std::vector<SimulatedCase> cases;  // as far as the limits allowed
  accelerator::Simulation sum;
  base::Count kept = 0, pairs = 0, matrices = 0;
  double density = 0;
  std::optional<double> relative_error, pruning_error;  // the worst of the cases
  accelerator::Instance instance;                       // with memories that fit
  ArrayChoice choice;
  ArrayPrice price;
  std::string rule;  // of a model
  double seconds = 0;
  // Of the first case's shape, all cases together; empty where shapes differ.
  std::optional<LatencyShape> shape;
  std::vector<LatencyLine> lines;
  std::optional<WholeLayer> whole;
  std::optional<CpuTimes> cpu;
  std::vector<TraceEvent> events;
  std::size_t events_left_out = 0;
  bool interrupted = false;
  std::vector<std::string> unfinished;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

}  // namespace orrery::verbs
