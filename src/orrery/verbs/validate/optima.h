// The best plan that a default search finds beside the recipe that its vendor tuned and measured: the same model,
// system, accelerators, global batch and precision, the system's own software.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/cluster/search/incumbents.h"
#include "orrery/inputs/systems/measured_runs.h"
#include "orrery/inputs/systems/optimum_error.h"
#include "orrery/inputs/systems/plan_stages.h"

namespace orrery::verbs {

struct FoundOptimum {
  std::string set;  // the table of the recipe
  MeasuredRun recipe;
  double measured_s = 0, predicted_s = 0;  // of the recipe, an iteration
  cluster::Candidate best;
  PlanScope scope = PlanScope::kUsual;
  double gap = 0;  // 0: the best is proven

  // The speed of the best over the recipe's measured one.
  double ratio() const { return measured_s / best.iteration.iteration_s; }
};

struct SoftwareOptima {
  std::string stack;
  OptimumError error;
};

struct FoundOptima {
  std::vector<FoundOptimum> recipes;  // the greatest ratio first
  std::vector<SoftwareOptima> by_stack;
};

// Of the fastest published recipe of each question in the tables `only`; by default of those in which vendors measured
// what they had tuned. Throws as read_measured does.
FoundOptima find_optima(const std::string& directory, const std::vector<std::string>& only, const base::Limits& limits);

}  // namespace orrery::verbs
