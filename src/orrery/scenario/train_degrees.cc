// All combinations of divisors: tp of the heads, cp of the sequence (powers of two), ep of the experts, any pp that
// the layers fill. Where the accelerators are counted, dp is what they leave, so few combinations pass. Memory alone
// decides; nothing is timed. Degrees beyond 1024 (pp: 4096) are not tried. Cost: for known models at most some 1e5
// combinations of 50 ns.
#include "orrery/scenario/train_degrees.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "orrery/cluster/memory.h"

namespace orrery::scenario {
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

// Smaller is better.
auto rank(const cluster::System& system, const cluster::Plan& plan) {
  return std::tuple(plan.tp > system.node_size, plan.tp * plan.pp * plan.cp, plan.ep, plan.cp, -plan.tp);
}

}  // namespace

ChosenDegrees choose_degrees(const cluster::Model& model, const cluster::System& system, cluster::Plan plan,
                             const GivenDegrees& given, const cost::Budget& budget) {
  constexpr Count kMost = 1'000'000;
  const Count most = given.gpus ? plan.gpus : kMost;
  const auto tps = one_or(given.tp, plan.tp, divisors(std::max<Count>(1, model.heads), std::min<Count>(most, 1024)));
  const auto pps = one_or(given.pp, plan.pp, up_to(std::min({model.layers, most, Count{4096}})));
  const auto cps = one_or(given.cp, plan.cp, powers_of_two(model.seq, std::min<Count>(most, 1024)));
  const auto eps =
      one_or(given.ep, plan.ep, divisors(std::max<Count>(1, model.experts.count), std::min<Count>(most, 1024)));

  // The answer if no degrees are possible: the plan as given, with as many replicas as fit, so that the errors are
  // about that.
  ChosenDegrees best;
  best.plan = plan;
  const Count fixed = plan.tp * plan.pp * plan.cp;
  if (!given.dp) best.plan.dp = given.gpus && fixed > 0 ? std::max<Count>(1, plan.gpus / fixed) : 1;
  if (!given.gpus) best.plan.gpus = fixed * best.plan.dp;
  double best_bytes = 0;
  cost::Ticker clock(budget);

  for (const Count tp : tps)
    for (const Count pp : pps)
      for (const Count cp : cps) {
        cluster::Plan tried = plan;
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
          const double bytes = cluster::memory(model, tried).total();
          const bool fits = bytes <= system.accelerator.memory_bytes;
          const bool better =
              !best.possible || (fits && !best.fits) ||
              (fits == best.fits && (fits ? rank(system, tried) < rank(system, best.plan) : bytes < best_bytes));
          ++best.tried;
          if (!better) continue;
          best = {tried, true, fits, best.tried};
          best_bytes = bytes;
        }
      }
  best.all = !clock.was_spent();
  return best;
}

}  // namespace orrery::scenario
