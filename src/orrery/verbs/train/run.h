// A training run, from what the user said to its time and memory: names become a model and a system of the catalogue,
// what of the plan was not given is searched, and the accelerator's operator model joins the cluster's.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/numbers/count.h"
#include "orrery/base/text/override.h"
#include "orrery/engines/cluster/model/fields.h"
#include "orrery/engines/cluster/model/iteration.h"
#include "orrery/engines/cluster/model/model.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/engines/cluster/model/plan.h"
#include "orrery/engines/cluster/model/system.h"
#include "orrery/inputs/systems/run_question.h"
#include "orrery/verbs/train/plans/plan_question.h"
#include "orrery/verbs/train/run_operators.h"
#include "orrery/inputs/systems/expected_error.h"

namespace orrery::verbs {

struct TrainRequest : RunQuestion {
  bool by_operator = false;  // list the operators, as a run on a chip does
  std::optional<base::Count> ep, cp, interleave;
  std::optional<cluster::PipelineChoice> schedule;
  std::optional<cluster::Recompute> recompute;
  std::optional<cluster::Attention> attention;
  std::string stack;                                // of the catalogue; empty: the system's, or what the plan needs
  std::optional<std::vector<std::string>> overlap;  // classes of communication; absent: what the stack overlaps
  bool sequence_parallel = false;
  int zero = -1;                                            // -1: not said
  std::string plan_file;                                    // fields of the plan; empty: none
  PlanQuestion plans;                                       // what is wanted of plans, where some of it is open
  std::string measurements;                                 // table of matrix products; empty: the roofline alone
  std::string attention_array;                              // an answer of `sparse simulate`; empty: none
  std::optional<double> efficiency;                         // AMPeD's: every product reaches this share of the peak,
  double half_efficiency = 0;                               // half of it at a microbatch of so many sequences
  double tokens = 0;                                        // to train on; 0: not asked
  base::Limits limits = {.memory = 0};                      // of the choice of open degrees
  std::function<const std::atomic<bool>*()> interruptible;  // as of PlaceRequest
  std::function<void(std::size_t, std::size_t)> searching;  // products of a chip that were searched, and all
  base::Overrides overrides;                                // after everything else
};

struct TrainedModel {
  cluster::Model model;
  cluster::Description description;  // its sizes, in the words of `--set model.`
  cluster::System system;
  cluster::Plan plan;
  cluster::Iteration iteration;
  double parameters = 0;
  double active_parameters = 0;     // of the routed experts only what a token visits
  double tokens = 0;                // as asked; 0: not asked
  double training_s = 0;            // for them
  std::string operators;            // what timed them: "roofline", "measurements", "chip", ...
  std::string chip;                 // its name; empty: the system's own accelerator
  std::vector<RunOperator> listed;  // the operators, the longest first; empty: not asked for
  std::optional<double> joules;     // of their operators, an iteration on all accelerators
  base::Count searched = 0;         // products whose mapping was searched
  std::vector<std::pair<machine::MatrixProduct, double>> unproven;  // of them, those without a proof, with their gaps
  std::vector<std::string> defaulted;                               // degrees that were chosen: "tp", "pp", ...
  std::string asked;         // the question's own options, beside which a printed plan means this run (repeated_arguments.h)
  bool stack_given = false;  // false: the system's, or what the plan needs
  std::vector<std::string> assumed;             // not given and not chosen either: "micro_batch", "attention"
  std::optional<ExpectedError> expected_error;  // nothing: no runs like this one were measured
  std::string expected_error_of;                // what those have in common with it, or why none counts; in words
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
  std::optional<double> kilowatt_hours;  // at the system's `accelerator.power`, likewise
};
TrainingCost training_cost(const TrainedModel& trained, double seconds);

// Throws InputError: O1370 where model, system or batch is missing, O1371 for overrides of a plan's fields that do
// not exist or of values they cannot take, O1372 where no degrees are possible (O1008: in time), O1378 for an
// interleaved schedule of one chunk, O1390 to O1393 for a chip that cannot stand in for an accelerator, and what the
// catalogue and cluster::check say. A plan that does not fit into memory is an answer, not an error.
TrainedModel train(const TrainRequest& request);

// What papers count of a run and nobody computes, in words: "attention that a mask hides". Empty: they count what is
// done.
std::vector<std::string> counted_undone(const TrainedModel& trained);

// Why the iteration does not fit, O1373: by how much, the terms from the largest on, ways out.
base::Diagnostic explain_no_fit(const TrainedModel& trained);

}  // namespace orrery::verbs
