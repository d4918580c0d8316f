// All combinations of divisors: tp of the heads (of all kinds of layers), cp of the sequence (powers of two), ep of the
// experts, any pp that the layers fill. Where the accelerators are counted, dp is what they leave, so few combinations
// pass. Memory alone decides; nothing is timed. Degrees beyond 1024 (pp: 4096) are not tried. Cost: for known models at
// most some 1e5 combinations of 50 ns.
#include "orrery/verbs/train/plans/open_degrees.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

#include "orrery/base/limits/parallel.h"
#include "orrery/engines/cluster/model/memory.h"

namespace orrery::verbs {
namespace {

using base::Count;

std::vector<Count> divisors(Count number, Count most) {
  std::vector<Count> found;
  for (Count d = 1; d <= std::min(number, most); ++d)
    if (number % d == 0) found.push_back(d);
  return found;
}

std::vector<Count> powers_of_two(Count number, Count most) {
  std::vector<Count> found;
  for (Count d = 1; d <= most && d <= number && number % d == 0; d *= 2) found.push_back(d);
  return found;
}

std::vector<Count> up_to(Count most) {
  std::vector<Count> found;
  for (Count d = 1; d <= most; ++d) found.push_back(d);
  return found;
}

std::vector<Count> one_or(bool given, Count value, std::vector<Count> open) {
  return given ? std::vector<Count>{value} : std::move(open);
}

// What every tensor degree divides.
Count divided_by_tp(const cluster::Model& model) {
  Count common = 0;
  for (const cluster::LayerKind& kind : model.kinds) {
    for (const cluster::Core& core : kind.cores) common = std::gcd(common, core.heads);
    if (kind.scan.heads > 0) common = std::gcd(common, kind.scan.heads);
  }
  return std::max<Count>(1, common);
}

// Smaller is better.
auto rank(const cluster::System& system, const cluster::Plan& plan) {
  return std::tuple(plan.tp > system.node_size, plan.tp * plan.pp * plan.cp, plan.ep, plan.cp, -plan.tp);
}

// A choice, and the bytes that it takes.
struct Candidate {
  cluster::Plan plan;
  bool possible = false, fits = false;
  double bytes = 0;
};

bool better(const cluster::System& system, const Candidate& a, const Candidate& b) {
  if (!a.possible || !b.possible) return a.possible && !b.possible;
  if (a.fits != b.fits) return a.fits;
  return a.fits ? rank(system, a.plan) < rank(system, b.plan) : a.bytes < b.bytes;
}

}  // namespace

ChosenDegrees choose_degrees(const cluster::Model& model, const cluster::System& system, cluster::Plan plan,
                             const GivenDegrees& given, const base::Budget& budget, int threads) {
  constexpr Count kMost = 1'000'000;
  const Count most = given.gpus ? plan.gpus : kMost;
  const auto tps = one_or(given.tp, plan.tp, divisors(divided_by_tp(model), std::min<Count>(most, 1024)));
  const auto pps = one_or(given.pp, plan.pp, up_to(std::min({model.layers, most, Count{4096}})));
  const auto cps = one_or(given.cp, plan.cp, powers_of_two(model.seq, std::min<Count>(most, 1024)));
  const auto eps =
      one_or(given.ep, plan.ep, divisors(std::max<Count>(1, model.experts()), std::min<Count>(most, 1024)));

  // The answer if no degrees are possible: the plan as given, with as many replicas as fit, so that the errors are
  // about that.
  ChosenDegrees chosen;
  Candidate best{plan};
  const Count fixed = plan.tp * plan.pp * plan.cp;
  if (!given.dp) best.plan.dp = given.gpus && fixed > 0 ? std::max<Count>(1, plan.gpus / fixed) : 1;
  if (!given.gpus) best.plan.gpus = fixed * best.plan.dp;

  // A task looks at the choices of one tp; they are joined in the order of one thread.
  struct Found {
    Candidate best;
    Count tried = 0;
    bool all = true;
  };
  std::vector<Found> found(tps.size());
  base::parallel_for(tps.size(), threads, [&](std::size_t task) {
    Found& own = found[task];
    base::Ticker clock(budget);
    const Count tp = tps[task];
    for (const Count pp : pps)
      for (const Count cp : cps) {
        Candidate each{plan};
        cluster::Plan& tried = each.plan;
        tried.tp = tp, tried.pp = pp, tried.cp = cp;
        if (clock.spent()) break;
        const Count replica = tp * pp * cp;
        if (replica < 1 || replica > kMost) continue;
        if (given.gpus && !given.dp) tried.dp = plan.gpus / replica;
        if (!given.gpus) tried.gpus = replica * tried.dp;
        if (tried.dp < 1 || replica * tried.dp != tried.gpus) continue;
        if (system.max_gpus > 0 && tried.gpus > system.max_gpus) continue;
        for (const Count ep : eps) {
          if (clock.spent()) break;
          tried.ep = ep;
          if (!cluster::possible(model, system, tried)) continue;
          each.possible = true;
          each.bytes = cluster::memory(model, tried).in_use();
          each.fits = each.bytes <= system.accelerator.memory_bytes;
          ++own.tried;
          if (better(system, each, own.best)) own.best = each;
        }
      }
    own.all = !clock.was_spent();
  });
  for (const Found& part : found) {
    if (better(system, part.best, best)) best = part.best;
    chosen.tried += part.tried;
    chosen.all = chosen.all && part.all;
  }
  chosen.plan = best.plan;
  chosen.possible = best.possible;
  chosen.fits = best.fits;
  return chosen;
}

}  // namespace orrery::verbs
