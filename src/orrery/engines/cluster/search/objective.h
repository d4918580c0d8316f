// What a search wants little of, as numbers to compare, and what it must stay within.
//
//   time      seconds of an iteration; of a sequence, where several global batches are open
//   cost      its dollars at the system's price of an accelerator (accelerator-hours where there is none), those that
//             stay idle included
//   energy    its joules at the system's rated power (accelerator-seconds where there is none), of those that work
//   memory    bytes of the fullest accelerator
//   goodput   seconds over the share of them that is not lost to failures and checkpoints
//
// Failures come at random, one in `mtbf_s / gpus`; work since the last checkpoint is lost with each. With checkpoints
// of C seconds after every interval of work tau and restarts of R, at M seconds between failures, the share of useful
// time is tau / (M e^(R/M) (e^((tau + C)/M) - 1)) (Daly 2006), greatest at the tau that solves
// e^((tau + C)/M) (1 - tau/M) = 1.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/engines/cluster/model/iteration.h"
#include "orrery/engines/cluster/model/plan.h"
#include "orrery/engines/cluster/model/system.h"

namespace orrery::cluster {

enum class Metric { kTime, kCost, kEnergy, kMemory, kGoodput, kAccelerators };
inline constexpr std::size_t kMostMetrics = 8;  // of an objective, ties included

struct Reliability {
  double mtbf_s = 0;        // of one accelerator with its share of everything around it; 0: nothing fails
  double checkpoint_s = 0;  // to write one
  double restart_s = 0;     // from a failure to the first new step
};

// The value of what the limits exclude.
inline constexpr double kNever = std::numeric_limits<double>::infinity();
// Bounds add up the same seconds in another order than evaluate() does: what exceeds a value by less does not exceed
// it.
inline constexpr double kRounding = 1e-12;

// The share of time that is neither lost nor spent on checkpoints, with the best interval between them; 0 where
// failures come faster than work gets done.
double useful_share(const Reliability& reliability, double gpus);
// That interval, seconds of work; infinite where nothing fails.
double best_interval(const Reliability& reliability, double gpus);

// The most of each that a plan may take.
struct PlanLimits {
  double memory = kNever;   // bytes of an accelerator, the allocator's among them
  double in_use = kNever;   // bytes of it in use
  double seconds = kNever;  // of the unit of work
  double cost = kNever;     // of the unit of work, in the unit of Metric::kCost
};

using Score = std::array<double, kMostMetrics>;

// What a plan is compared by.
struct Objective {
  std::vector<Metric> metrics = {Metric::kTime};  // in turn; with `front`, side by side
  bool front = false;
  bool by_sequence = false;       // the unit of work: a sequence, not an iteration
  base::Count least_gpus = 1;     // so many are paid for, used or not
  double price_per_gpu_hour = 0;  // 0: unknown
  double watts_per_gpu = 0;       // 0: unknown
  Reliability reliability;

  // `seconds` of an iteration of `plan`. `used` and `paid` are of bounds: the fewest accelerators of a set of plans,
  // and the most.
  double value(Metric metric, double seconds, double memory, double batch, double used, double paid) const;
  double value(Metric metric, const Plan& plan, const Iteration& iteration) const;

  // All that decides before the order of plans does: the metrics, then time.
  std::vector<Metric> all() const;
};

// Accelerators that the plan leaves idle of those that are there.
base::Count idle(const Objective& objective, const Plan& plan);

}  // namespace orrery::cluster
