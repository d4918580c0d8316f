// What `train` answers.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/numbers/count.h"
#include "orrery/describe/machine/operator.h"
#include "orrery/engines/cluster/model/fields.h"
#include "orrery/engines/cluster/model/iteration.h"
#include "orrery/engines/cluster/model/model.h"
#include "orrery/engines/cluster/model/plan.h"
#include "orrery/engines/cluster/model/system.h"
#include "orrery/inputs/systems/expected_error.h"
#include "orrery/inputs/systems/measured_runs.h"
#include "orrery/inputs/systems/optimum_error.h"
#include "orrery/verbs/train/operators/fused_attention.h"
#include "orrery/verbs/train/operators/run_operators.h"
#include "orrery/verbs/train/plans/plan_question.h"
#include "orrery/verbs/train/plans/usual_plan.h"

namespace orrery::verbs {

// A run of the same model, system, accelerators and batch that somebody measured: the fastest there is.
struct PublishedPlan {
  std::string title;  // of its table
  MeasuredRun run;
  double measured_s = 0, predicted_s = 0;  // of an iteration
  bool fits = true;                        // as predicted; it ran
};

struct TrainedModel {
  cluster::Model model;
  cluster::Description description;  // its sizes, in the words of `--set model.`
  cluster::System system;
  cluster::Plan plan;
  cluster::Iteration iteration;
  double parameters = 0;
  double active_parameters = 0;         // of the routed experts only what a token visits
  double tokens = 0;                    // as asked; 0: not asked
  double training_s = 0;                // for them
  std::string operators;                // what timed them: "roofline", "measurements", "chip", ...
  std::string chip;                     // its name; empty: the system's own accelerator
  std::vector<RunOperator> listed;      // the operators, the longest first; empty: not asked for
  std::optional<double> joules;         // of their operators, an iteration on all accelerators
  std::optional<FusedAttention> fused;  // where it was asked for
  base::Count searched = 0;             // products whose mapping was searched
  std::vector<std::pair<machine::MatrixProduct, double>> unproven;  // of them, those without a proof, with their gaps
  std::vector<std::string> defaulted;                               // degrees that were chosen: "tp", "pp", ...
  std::string asked;                 // the question's own options, beside which a printed plan means this run
  bool stack_given = false;          // false: the system's, or what the plan needs
  std::vector<std::string> assumed;  // not given and not chosen either: "micro_batch", "attention"
  std::optional<ExpectedError> expected_error;  // nothing: no runs like this one were measured
  std::string expected_error_of;                // what those have in common with it, or why none counts; in words
  std::optional<OptimumError> optimum_error;    // of a plan that was searched, instead
  std::optional<UsualPlan> usual;               // beside a plan whose tp, pp and dp were searched
  std::optional<PublishedPlan> published;
  bool is_published = false;         // the plan is the published one, which ran
  double host_share = 0;             // of the iteration, that it would save if the host issued operators in no time
  base::Count choices = 0;           // of them that were possible
  bool all_choices = true;           // false: a limit or an interrupt ended the choice
  std::optional<PlanAnswer> search;  // where the plan is the best of those that were left open
  std::vector<base::Input> inputs;   // sorted
  base::Diagnostics warnings;
};

// What a run of `seconds` takes of its accelerators, hosts and networks apart.
struct TrainingCost {
  double accelerator_hours = 0;
  std::optional<double> dollars;         // at the system's `accelerator.price`; absent where it names none
  std::optional<double> kilowatt_hours;  // at the system's `accelerator.power` and `.pue`, likewise
};
// Where the system has its price from, in words; empty: it has none.
std::string price_source(const cluster::System& system);
TrainingCost training_cost(const TrainedModel& trained, double seconds);

// What papers count of a run and nobody computes, in words: "attention that a mask hides". Empty: they count what is
// done.
std::vector<std::string> counted_undone(const TrainedModel& trained);

// Why the iteration does not fit, O1373: by how much, the terms from the largest on, ways out.
base::Diagnostic explain_no_fit(const TrainedModel& trained);

}  // namespace orrery::verbs
