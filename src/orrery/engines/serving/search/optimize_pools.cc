#include "orrery/engines/serving/search/optimize_pools.h"

#include <algorithm>
#include <limits>

#include "orrery/base/limits/parallel.h"
#include "orrery/base/limits/stopwatch.h"

namespace orrery::serving {
namespace {

using base::Count;

// A replica of a pool on a machine.
std::vector<Deployment> shapes_of(const ServedModel& model, const Space& space, const Machine& machine) {
  std::vector<Deployment> out;
  for (const Count tp : space.tp)
    for (const Count pp : space.pp)
      for (const Count dp : space.dp)
        for (const Count ep : space.ep) {
          Deployment one = space.base;
          one.tp = tp, one.pp = pp, one.dp = dp, one.ep = ep, one.replicas = 1;
          base::Diagnostics found;
          check(model, one, found);
          if (!found.has_errors() && one.group() < machine.most && machine.system->accelerator.peak(one.precision) > 0)
            out.push_back(one);
        }
  return out;
}

double value_of(Goal goal, const FoundPools& found) {
  switch (goal) {
    case Goal::kTokensPerAccelerator:
      return -found.service.per_accelerator;
    case Goal::kUsdPerMillionTokens:
      return found.service.usd_per_million_tokens;
    case Goal::kAccelerators:
      break;
  }
  return static_cast<double>(found.pools.accelerators());
}

bool pair_comes_before(const FoundPools& a, const FoundPools& b) {
  if (a.value != b.value) return a.value < b.value;
  if (a.pools.accelerators() != b.pools.accelerators()) return a.pools.accelerators() < b.pools.accelerators();
  return a.service.tpot < b.service.tpot;
}

// Two shapes, with all numbers of replicas.
struct Pair {
  std::size_t machine = 0;
  Deployment prompts, decoding;
  std::optional<FoundPools> best = {};
  std::uint64_t evaluated = 0;
  double space = 0;
};

}  // namespace

OptimumPools optimize_pools(const ServedModel& model, const Space& space, Goal goal, const ServiceLimits& limits,
                            const Load& load, const base::Budget& budget, const SearchOptions& options) {
  const base::Stopwatch clock;
  std::vector<Pair> pairs;
  for (std::size_t m = 0; m < space.machines.size(); ++m) {
    const std::vector<Deployment> shapes = shapes_of(model, space, space.machines[m]);
    for (const Deployment& prompts : shapes)
      for (const Deployment& decoding : shapes) pairs.push_back({m, prompts, decoding});
  }
  std::vector<char> cut(pairs.size());
  base::parallel_for(pairs.size(), options.threads, [&](std::size_t p) {
    Pair& pair = pairs[p];
    const Machine& machine = space.machines[pair.machine];
    const Count a = pair.prompts.group(), b = pair.decoding.group();
    for (Count x = 1; x * a + b <= machine.most; ++x)
      for (Count y = 1; x * a + y * b <= machine.most; ++y) {
        ++pair.space;
        if (load.rate && pair.best && x * a + y * b > pair.best->pools.accelerators()) continue;
        if (budget.spent()) return static_cast<void>(cut[p] = 1);
        FoundPools found{pair.machine, {pair.prompts, pair.decoding}, {}, 0};
        found.pools.prompts.replicas = x, found.pools.decoding.replicas = y;
        found.service = evaluate(model, *machine.system, found.pools, load, *machine.operators);
        ++pair.evaluated;
        if (!limits.allow(found.service, load.rate)) continue;
        found.value = value_of(goal, found);
        if (!pair.best || pair_comes_before(found, *pair.best)) pair.best = found;
      }
  });
  OptimumPools out;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const Pair& pair = pairs[p];
    out.finished = out.finished && cut[p] == 0;
    out.certificate.space += pair.space;
    out.certificate.evaluated += pair.evaluated;
    if (!pair.best) continue;
    out.best.insert(std::upper_bound(out.best.begin(), out.best.end(), *pair.best, pair_comes_before), *pair.best);
    if (out.best.size() > std::max<std::size_t>(1, options.top)) out.best.pop_back();
  }
  out.certificate.optimal = out.finished;
  if (!out.best.empty())
    out.certificate.close(out.best.front().value,
                          out.finished ? out.best.front().value : -std::numeric_limits<double>::infinity());
  else if (out.finished)
    out.certificate.close_empty();
  out.certificate.seconds = clock.seconds();
  return out;
}

}  // namespace orrery::serving
