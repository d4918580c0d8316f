// simulate(...): requests through replicas of an engine, step by step, in whole nanoseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/limits/budget.h"
#include "orrery/engines/serving/model/kv_memory.h"
#include "orrery/engines/serving/model/load.h"
#include "orrery/engines/serving/model/step.h"
#include "orrery/engines/serving/simulation/request.h"
#include "orrery/engines/serving/simulation/scheduler.h"

namespace orrery::serving {

enum class Router {
  kRoundRobin,
  kLeastLoad,  // of the fewest requests that run or wait; the first of equal ones
};

// What became of a request; nanoseconds.
struct Served {
  std::int64_t arrival = 0, first = 0, end = 0;
  std::int32_t preemptions = 0;
};

// A value below which a share of all stays, and where 95 of 100 such runs would have it.
struct Percentile {
  double value = 0, low = 0, high = 0;
};

struct Simulation {
  bool finished = true;  // false: the budget was spent, nothing is known
  std::vector<Served> requests;
  Percentile ttft_p50, ttft_p99;  // seconds
  double ttft_mean = 0, tpot_mean = 0, e2e_mean = 0;
  double seconds = 0;  // from the first arrival to the last token
  double output_tokens_per_s = 0;
  std::int64_t steps = 0, preemptions = 0;
  double busy = 0;              // share of the time in which replicas run steps
  double hit_share = 0;         // of prompts' tokens, those found in caches, first admissions and later ones
  base::Count most_blocks = 0;  // at once, of a replica
};

struct SimulationOptions {
  Router router = Router::kRoundRobin;
  base::Count users = 0;                 // > 0: arrivals are ignored, so many requests are under way at once
  const base::Budget* budget = nullptr;  // borrowed; ends it early
};

// What the simulation does not know of a deployment, and requests that it cannot serve: O2075.
void check(const Deployment& deployment, const SchedulerLimits& limits, const std::vector<Request>& requests,
           base::Diagnostics& found);

// The limits of a completed() deployment with so many blocks.
SchedulerLimits limits_of(const Deployment& deployment, const KvMemory& memory);

// All are checked; arrivals do not decrease.
Simulation simulate(const StepModel& steps, const SchedulerLimits& limits, const std::vector<Request>& requests,
                    const SimulationOptions& options = {});

// `count` requests of a load; equal seeds make equal requests.
std::vector<Request> requests_of(const Load& load, std::size_t count, std::uint64_t seed);

}  // namespace orrery::serving
