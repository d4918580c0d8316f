#include "orrery/verbs/serve/served_simulation.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "orrery/engines/serving/model/pools.h"

namespace orrery::verbs {
namespace {

using base::Count;
using serving::Deployment;

constexpr Count kSimulatedWaves = 20;  // requests of each user
constexpr Count kSimulatedArrivals = 4000;
constexpr Count kMostSimulated = 10'000'000;

Count requests_to_draw(const ServeRequest& r, Count users) {
  if (r.requests > 0) return r.requests;
  if (users == 0) return kSimulatedArrivals;
  return users * r.requests_per_user.value_or(kSimulatedWaves);
}

}  // namespace

void lack_host_link(const cluster::System& system, const char* option) {
  base::fail("O2070", fmt::format("`{}` says nothing of the link to the host's memory", system.name), {},
             fmt::format("leave `{}` out, or state `accelerator.host_bandwidth` in the system's file", option));
}

void simulate(const ServeRequest& r, const serving::ServedModel& model, const serving::PoolKinds& on,
              const base::Budget& budget, ServedAnswer& out) {
  const Count users = r.concurrency ? static_cast<Count>(*r.concurrency) : 0;
  const Count count = requests_to_draw(r, users);
  if (count > kMostSimulated)
    base::fail("O2075",
               fmt::format("{} requests are more than the {} that the simulation takes", count, kMostSimulated), {},
               "`--requests 100000` simulates fewer, or leave `--simulate` out");
  const std::vector<serving::Request> drawn =
      out.trace.empty() || r.rate ? serving::requests_of(out.load, static_cast<std::size_t>(count), r.seed.value_or(1))
                                  : std::vector<serving::Request>();
  const std::vector<serving::Request>& requests = drawn.empty() ? out.trace : drawn;
  const Deployment last = out.first().deployment;
  const Deployment first = out.prompts() ? *out.prompts() : last;
  const auto limits_on = [&](const Deployment& d, const serving::Kind& kind) {
    serving::SchedulerLimits limits = limits_of(d, kv_memory(model, *kind.system, d), requests);
    limits.seed = r.seed.value_or(1);
    return limits;
  };
  base::Diagnostics found;
  check(first, limits_on(first, on.prompts), requests, found);
  if (out.prompts() && !found.has_errors()) check(last, limits_on(last, on.decoding), requests, found);
  if (out.load.prefix_hit + out.load.host_hit > 0)
    found.error("O2075", "the simulation finds prefixes in caches by itself, and these requests have none in common")
        .hint("leave `--prefix-hit` and `--host-hit`, or `--simulate` out");
  found.throw_if_errors();
  const serving::StepModel steps(model, *on.prompts.system, first, *on.prompts.operators);
  const serving::StepModel further(model, *on.decoding.system, last, *on.decoding.operators);
  const serving::Pools pools{first, last};
  const serving::Handover handover{further, limits_on(last, on.decoding),
                                   [&](Count tokens) { return transfer_seconds(model, on, pools, tokens); }};
  serving::SimulationOptions options;
  options.router = r.router.value_or(serving::Router::kRoundRobin);
  options.users = users;
  options.timeline = r.timeline;
  options.budget = &budget;
  serving::SchedulerLimits limits = limits_on(first, on.prompts);
  if (r.offload) {
    const cluster::System& system = *on.prompts.system;
    if (!(system.accelerator.host_rate() > 0)) lack_host_link(system, "--offload");
    const serving::KvMemory memory = kv_memory(model, system, first);
    options.load_seconds_per_token = add_host_memory(*r.offload * 1e9, memory, system.accelerator, limits);
    if (first.engine == serving::Engine::kSglang && limits.host_blocks <= limits.blocks)
      base::fail("O2070",
                 fmt::format("sglang copies all that the device has: {:g} GB of the host are not more than its {:.1f}",
                             *r.offload, memory.caches / 1e9),
                 {}, fmt::format("`--offload {:.0f}` or more", std::ceil(memory.caches / 1e9) + 1));
  }
  if (out.prompts()) options.handover = &handover;
  if (users > 0 && !r.requests_per_user && out.trace.empty() && count > 3 * users) {
    options.skip_first = static_cast<std::size_t>(std::max(users, count / 4));
    options.skip_last = static_cast<std::size_t>(users);
  }
  serving::Simulation simulated = serving::simulate(steps, limits, requests, options);
  if (simulated.finished)
    out.simulation = std::move(simulated);
  else
    out.ended_early = true;
}

}  // namespace orrery::verbs
