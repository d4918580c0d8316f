// What `validate` answers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/engines/cluster/model/iteration.h"
#include "orrery/engines/cluster/model/model.h"
#include "orrery/engines/cluster/model/plan.h"
#include "orrery/inputs/systems/expected_error.h"
#include "orrery/verbs/validate/error_summary.h"

namespace orrery::verbs {

enum class Measure { kIterationSeconds, kMfu, kHfu, kTflopsPerGpu, kTokensPerSecond, kGpuHoursPerTrillionTokens };

struct MeasuredRun {
  std::string row;
  Use use = Use::kHeldOut;
  std::string model_name;
  std::string system_name;
  std::string system_changes;  // fields with other values: "accelerator.memory=40GiB", by spaces
  cluster::Model model;
  cluster::Plan plan;
  Measure measure = Measure::kIterationSeconds;
  double value = 0;         // in the measure's unit
  double memory_bytes = 0;  // that were measured on an accelerator; 0: not published
  std::string note;
  base::Location where;
};

struct MeasuredSet {
  std::string name;  // of the file
  std::string title, source, licence, calculon;
  std::vector<MeasuredRun> runs;
};

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
