// Published and measured training runs: the catalogue's tables.
//
// A table is a CSV file in catalog/validation: comment lines `# title: ...`, `# source: ...`, `# licence: ...`, then
// columns
//   row       how the source counts it                      use      held-out, fitted or unverified
//   model     catalogue name                                system   catalogue name
//   measure   iteration_s, mfu, hfu, tflops_per_gpu, tokens_per_s or gpu_hours_per_trillion_tokens
//   value     what was measured (mfu and hfu in percent)    note     what the source leaves open, causes of a miss
//   model.X   a field of the model, plan.X one of the plan, as `--set` names them; an empty cell keeps the default
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/engines/cluster/model/iteration.h"
#include "orrery/engines/cluster/model/model.h"
#include "orrery/engines/cluster/model/plan.h"
#include "orrery/engines/cluster/model/system.h"
#include "orrery/inputs/systems/measured_rows.h"

namespace orrery::verbs {

enum class Measure { kIterationSeconds, kMfu, kHfu, kTflopsPerGpu, kTokensPerSecond, kGpuHoursPerTrillionTokens };

struct MeasuredRun {
  std::string row;
  Use use = Use::kHeldOut;
  std::string model_name;
  std::string system_name;
  std::string system_changes;                     // fields with other values: "accelerator.memory=40GiB", by spaces
  std::shared_ptr<const cluster::System> system;  // with them
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

std::string_view name(Measure measure);
double predicted(const cluster::Iteration& iteration, const cluster::Plan& plan, Measure measure);
// Seconds of an iteration, of a prediction and what was measured beside it.
double measured_seconds(const cluster::Iteration& iteration, const MeasuredRun& run);

// Which rows to read: of `model` on `system`, empty for any, with these plans (0: any).
struct RunFilter {
  std::string model, system;
  base::Count gpus = 0, global_batch = 0;
  std::shared_ptr<const cluster::System> loaded = nullptr;  // `system` as its file has it, where it was read already
};

// Every table, sorted by name; `only` keeps the tables of these names, `filter` rows of them. Throws InputError: O1358
// for tables that cannot be read as such; O1359 for names that are none, with the nearest; and what models, systems and
// plans report.
std::vector<MeasuredSet> read_measured(const std::string& directory, const std::vector<std::string>& only = {},
                                       const RunFilter& filter = {});

}  // namespace orrery::verbs
