// What `train` is asked.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/base/numbers/count.h"
#include "orrery/base/text/override.h"
#include "orrery/engines/cluster/model/model.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/engines/cluster/model/plan.h"
#include "orrery/inputs/systems/run_question.h"
#include "orrery/verbs/train/plans/plan_question.h"

namespace orrery::verbs {

struct TrainRequest : RunQuestion {
  std::optional<base::Count> mtp;  // modules that predict ahead; -1: none, 0 or absent: as many as the file states
  bool by_operator = false;        // list the operators, as a run on a chip does
  std::optional<base::Count> ep, cp, interleave;
  std::optional<cluster::PipelineChoice> schedule;
  std::optional<cluster::Recompute> recompute;
  std::optional<cluster::Recomputed> recomputed;  // parts that selective recomputation computes again
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

}  // namespace orrery::verbs
