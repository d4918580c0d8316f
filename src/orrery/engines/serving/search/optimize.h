// optimize(model, space, objective, limits, load): the best deployment of a space, with proof. The proof is of the
// model (evaluate.h), not of the hardware.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/base/limits/certificate.h"
#include "orrery/engines/serving/model/evaluate.h"

namespace orrery::serving {

// A kind of accelerators that may be taken.
struct Machine {
  const cluster::System* system = nullptr;
  const machine::OperatorModel* operators = nullptr;
  base::Count most = 0;  // accelerators; 0: as many as one likes
};

// Deployments: `base` with one of each list; an empty list leaves what `base` says. Those that check() refuses are not
// among them.
struct Space {
  std::vector<Machine> machines;
  Deployment base;
  std::vector<machine::Precision> precisions, cache_precisions;
  std::vector<base::Count> tp, pp, ep, dp, max_batched_tokens;
  std::vector<base::Count> replicas;  // ascending
  std::vector<double>
      users;  // of a group of attention, in the place of the load's concurrency; empty: as the load says
};

enum class Goal {
  kTokensPerAccelerator,  // output tokens/s; most
  kUsdPerMillionTokens,   // least
  kAccelerators,          // least
};

struct ServiceLimits {
  std::optional<double> ttft, tpot;  // seconds, means; none: no limit
  double load = 1;                   // of the capacity, at most so much of a rate

  bool allow(const Service& service, const std::optional<double>& rate) const {
    return service.fits && service.stable && !(ttft && service.ttft.mean > *ttft) && !(tpot && service.tpot > *tpot) &&
           !(rate && *rate > load * service.capacity);
  }
  // The largest part of a limit that is used: above 1, so many times too much.
  double used(const Service& service) const {
    return std::max(ttft ? service.ttft.mean / *ttft : 0, tpot ? service.tpot / *tpot : 0);
  }
};

struct Found {
  std::size_t machine = 0;
  Deployment deployment;
  std::optional<Deployment> prompts = {};  // a pool of its own for them (optimize_pools.h); absent: `deployment` reads
  std::size_t prompts_on = 0;              // the machine of those
  double users = 0;                        // of a group, where the space has them
  Service service;
  double value = 0;  // of the goal; less is better

  base::Count accelerators() const { return deployment.accelerators() + (prompts ? prompts->accelerators() : 0); }
};

struct Optimum {
  std::vector<Found> best;        // in order, of each shape the best; empty: nothing is within the limits
  base::Certificate certificate;  // of the first one's value
  bool finished = true;           // false: the budget was spent
  std::optional<Found> nearest;   // to the limits, where nothing is within them
  // Of what was evaluated: how near the limits came, and what a deployment lacks of memory at least; 0: none did.
  double least_ttft = 0, least_tpot = 0, least_lacking = 0;
  double most_capacity = 0;  // requests a second, of shapes with all replicas that are allowed; at a rate
};

struct SearchOptions {
  std::size_t top = 1;  // shapes whose best is returned
  int threads = 1;      // changes the time only
};

// What is least for a goal: of tokens/s the negative.
double value_of(Goal goal, const Service& service, base::Count accelerators);

// Of deployments with equal values the one with fewer accelerators, then of less time between tokens, then the one that
// the space lists first. The load is checked, with a rate or with users.
Optimum optimize(const ServedModel& model, const Space& space, Goal goal, const ServiceLimits& limits, const Load& load,
                 const base::Budget& budget, const SearchOptions& options = {});

}  // namespace orrery::serving
