// What `validate` answers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/engines/cluster/model/iteration.h"
#include "orrery/inputs/systems/expected_error.h"
#include "orrery/inputs/systems/measured_runs.h"
#include "orrery/verbs/validate/error_summary.h"

namespace orrery::verbs {

struct ValidatedPoint {
  MeasuredRun run;
  RunKind kind;
  cluster::Iteration iteration;
  double predicted = 0;                // in the measure's unit
  double error = 0;                    // predicted / measured - 1
  double constant = 0;                 // the same where every run has the median of the set's utilisations
  std::optional<double> memory_error;  // of the memory, where it was measured
};

struct ValidatedSet {
  std::string name, title, source, licence;
  std::vector<ValidatedPoint> points;  // worst first
  ErrorSummary held_out;
  ErrorSummary fitted;
  ErrorSummary constant;    // held-out rows by one utilisation for all, the median of the set's own
  ErrorSummary memory;      // of all rows whose memory was measured
  std::size_t refused = 0;  // rows of the set that are said not to fit, though they ran
  std::string calculon;  // "14.7 (55)": the mean magnitude of Calculon's errors in percent, on how many rows; or empty
};

}  // namespace orrery::verbs
