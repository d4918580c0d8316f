// evaluate(model, system, deployment, load, operators): what users and the site get of a deployment that runs steadily.
#pragma once

#include <string_view>

#include "orrery/engines/serving/model/kv_memory.h"
#include "orrery/engines/serving/model/load.h"
#include "orrery/engines/serving/model/step.h"

namespace orrery::serving {

// Seconds until the first token: of all requests on average, and below which half and 99 of 100 stay. Approximate where
// requests wait.
struct FirstToken {
  double mean = 0, p50 = 0, p99 = 0;  // 0: not computed
};

struct Service {
  KvMemory memory;             // of a group of attention
  double max_concurrency = 0;  // sequences as long as the load's whose keys and values the blocks hold, in a group
  bool fits = false;           // weights and a sequence fit; else the figures below are 0
  bool stable = false;         // requests do not come faster than they are served; else only capacity is known
  double capacity = 0;         // requests a second that all replicas can serve
  double tpot = 0;             // seconds between a request's tokens
  FirstToken ttft;
  double e2e = 0;
  double output_tokens_per_s = 0, per_accelerator = 0, per_user = 0;
  double running = 0;                 // requests at once in a group
  double occupancy = 0;               // of the blocks
  StepCost step;                      // that only decodes, and what binds it
  double usd_per_million_tokens = 0;  // of output; 0: the price is not known
  double joules_per_token = 0;        // at rated power; 0: it is not known
};

// All are checked; the deployment may be incomplete.
Service evaluate(const ServedModel& model, const cluster::System& system, const Deployment& deployment,
                 const Load& load, const machine::OperatorModel& operators);

// What evaluate() and its like for pools (pools.h) share.

// What follows from the tokens/s: shares of accelerators, price, energy. Of all of them together; 0: not known.
void add_prices(double accelerators, double usd_per_hour, double watts, Service& out);

}  // namespace orrery::serving
