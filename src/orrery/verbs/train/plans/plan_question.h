// What is wanted of plans that are partly open, and what a search over them answers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/limits/certificate.h"
#include "orrery/base/numbers/count.h"
#include "orrery/engines/cluster/search/incumbents.h"
#include "orrery/engines/cluster/search/objective.h"
#include "orrery/inputs/systems/plan_stages.h"

namespace orrery::verbs {

struct PlanQuestion {
  std::vector<cluster::Metric> objective;  // in turn; empty: time
  bool front = false;                      // all plans that no other one beats in these, side by side
  std::optional<base::Count> top;          // so many of the best; default 5
  std::optional<base::Count> most_gpus;    // of a range; RunQuestion::gpus is its least
  std::vector<base::Count> batches;        // several global batches; empty: RunQuestion::global_batch
  std::optional<double> most_memory;       // bytes of an accelerator; default: all it has
  std::optional<MemoryMargin> margin;      // nothing: kUsualMargin, unless most_memory is given
  PlanScope scope = PlanScope::kUsual;     // kUsual: if none of those is within the limits, others
  bool beside = false;                     // also say what offloading would bring, and a published plan
  std::optional<double> most_dollars;      // of the run with `tokens`, else of an iteration (a sequence, of batches)
  std::optional<double> most_seconds;      // likewise
  cluster::Reliability reliability;
  bool certify = false;  // by evaluating every plan
  bool map = false;      // the best plan of every tp x pp
  std::string why;       // "tp=4,zero=1": what a choice costs
  std::function<void(double best, double bound)> progress;

  // The first option that only a search can answer; empty: none was given.
  std::string first_asked() const;
  bool asked() const { return !first_asked().empty(); }
};

// The best plan with a choice that was forced.
struct ForcedPlan {
  std::string choice;                      // as asked
  std::optional<cluster::Candidate> best;  // nothing: none is possible within the limits,
  std::string reason;                      // because
};

struct PlanAnswer {
  cluster::Objective objective;
  std::vector<cluster::Candidate> top;    // the first is the plan of the answer
  base::Certificate certificate;          // of the objective's first metric
  bool certified = false;                 // by plain enumeration
  bool interrupted = false;               // a limit ended it
  base::Count idle = 0;                   // accelerators
  std::vector<cluster::Candidate> cells;  // of tp x pp, where a map was asked for
  std::optional<ForcedPlan> forced;
  std::vector<std::string> conflict;  // where nothing is within the limits: the smallest set that excludes all
  bool conflict_proven = true;        // that there is no smaller one
  PlanScope scope = PlanScope::kAll;  // of what the first of `top` is the best
  double margin = 0;                  // bytes of an accelerator that all plans leave free
  bool margin_left = false;           // no plan leaves the usual margin free, so there is none
  bool offloads_to_fit = false;       // no plan fits that offloads nothing
  std::optional<cluster::Candidate> offloading;  // the best where plans may offload, too; nothing: not asked
};

}  // namespace orrery::verbs
