// simulate(...): requests through replicas of an engine, step by step, in whole nanoseconds.
#pragma once

#include <cstdint>
#include <functional>
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

// Where a request goes, of all groups of attention of all replicas.
enum class Router {
  kRoundRobin,
  kLeastLoad,  // of the fewest requests that run or wait; the first of equal ones
  kPrefix,     // that has most of its prompt, if that is half of it and not much busier than others; else least load
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

// A step of a replica, or of its microbatch: from when it is scheduled until its tokens are there.
struct SimulatedStep {
  std::int64_t begin = 0, end = 0;  // nanoseconds
  std::int32_t engine = 0;          // replicas, those that read prompts first
  std::int32_t prompt_tokens = 0, decodes = 0, waiting = 0, running = 0;
  std::int32_t accepted = 0;  // guesses that were right: tokens beside one of each that decodes
  base::Count blocks = 0;     // held
};

struct Simulation {
  bool finished = true;  // false: the budget was spent, nothing is known
  std::vector<Served> requests;
  std::vector<SimulatedStep> timeline;  // in the order in which they were scheduled; where it was asked for
  Percentile ttft_p50, ttft_p99, tpot_p99, e2e_p99;  // seconds
  double ttft_mean = 0, tpot_mean = 0, e2e_mean = 0;
  double seconds = 0;  // from the first arrival to the last token
  double output_tokens_per_s = 0;
  std::int64_t steps = 0, preemptions = 0;
  double busy = 0;              // share of the time in which replicas run steps
  double hit_share = 0;         // of prompts' tokens, those found in caches, first admissions and later ones
  double loaded_share = 0;      // the same, from the host's memory
  base::Count most_blocks = 0;  // at once, of a replica
};

// A pool that goes on with prompts which another one has read.
struct Handover {
  const StepModel& steps;
  SchedulerLimits limits;
  std::function<double(base::Count)> seconds;  // in which keys and values of so many tokens come
};

struct SimulationOptions {
  Router router = Router::kRoundRobin;
  base::Count users = 0;  // > 0: arrivals are ignored, so many requests are under way at once
  // Requests of which means and percentiles are not: those of a first time that is unlike the rest, and of the last.
  std::size_t skip_first = 0, skip_last = 0;
  bool timeline = false;
  const Handover* handover = nullptr;    // borrowed; nothing: replicas do both
  double load_seconds_per_token = 0;     // of keys and values from the host's memory, of one pool
  const base::Budget* budget = nullptr;  // borrowed; ends it early
};

// What of a host's memory of so many bytes on each accelerator the limits' blocks are, and seconds in which a token's
// keys and values come from it. One pool, of a system with a link to the host.
double add_host_memory(double bytes, const KvMemory& memory, const machine::Accelerator& accelerator,
                       SchedulerLimits& limits);

// What the simulation does not know of a deployment, and requests that it cannot serve: O2075.
void check(const Deployment& deployment, const SchedulerLimits& limits, const std::vector<Request>& requests,
           base::Diagnostics& found);

// The limits of a completed() deployment with so many blocks, by the engine's rules. TensorRT-LLM cuts prompts only
// where it must (cuts_prompts). Where layers keep different tokens, the pool has as many blocks as
// hold the requests of mean length that fit.
SchedulerLimits limits_of(const Deployment& deployment, const KvMemory& memory, const std::vector<Request>& requests);

// All are checked; arrivals do not decrease.
Simulation simulate(const StepModel& steps, const SchedulerLimits& limits, const std::vector<Request>& requests,
                    const SimulationOptions& options = {});

// `count` requests of a load; equal seeds make equal requests.
std::vector<Request> requests_of(const Load& load, std::size_t count, std::uint64_t seed);

}  // namespace orrery::serving
