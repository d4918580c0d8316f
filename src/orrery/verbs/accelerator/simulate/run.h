// `orrery sparse simulate`: masks, arrays or a model's attentions on an accelerator, cycle by cycle.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/verbs/accelerator/accelerator_run.h"
#include "orrery/verbs/accelerator/simulate/array_beside.h"

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

// Throws InputError: those of read_array_cases(), instance_for() and price_of(). Warns O1841 of what the limits left
// out, O1903 of numbers that did not fit their format.
SparseSimulate simulate_sparse(const SimulateRequest& request);

}  // namespace orrery::verbs
