// A layout made ready: what every mapping under it costs at least, by bounds that need no table.
//
// Each dataspace alone, then each level alone with the cheapest tile that fits it (lattice_capacity.h), by energy;
// where a bandwidth binds, once more by the cycles of the scarcest and by both together. Few choices of what to keep
// are listed right away, each with its own bound. Cost: tens of microseconds where nothing can be better, which is the
// usual case.
#include <algorithm>

#include "orrery/engines/nest/search/lattice/lattice_chains.h"
#include "orrery/engines/nest/search/lattice/lattice_search.h"
#include "orrery/engines/nest/search/objective.h"

namespace orrery::nest::lattice {

namespace {

// Of one dimension; how they divide each other is listed.
constexpr std::size_t kMostDivisors = 5'000;

}  // namespace

int LatticeSearch::scarcest(const Loads& loads, double cycles) const {
  int scarce = -1;
  for (int r = 0; r < problem_.resources; ++r)
    if (loads[r] > cycles * (1 + kEqual)) cycles = loads[r], scarce = r;
  return scarce;
}

Key LatticeSearch::bound_of(const Opened& here, const Least& least, double cycles) const {
  const double compute = here.prices.layout().cycles;
  const double energy_pj = (problem_.compute_pj + least[kEnergy]) * (1 - kEqual);
  const double active = std::max({here.cycles, cycles, (least[kScarce] + here.slow.compute * compute) * (1 - kEqual)});
  const double leak_pj = here.prices.leak_pj_per_cycle();
  return goal_.traded(goal_.whole_key(energy_pj, active, leak_pj), energy_pj, active, leak_pj,
                      (problem_.compute_pj + least[kTogether] + here.mu * here.traded.compute * compute) * (1 - kEqual),
                      here.mu);
}

Triple<Loads> LatticeSearch::most_loads(const Opened& here, double energy_pj) const {
  Triple<Loads> most;
  const double ceiling = limits_.ceilings ? goal_.most_active(energy_pj, here.prices.leak_pj_per_cycle()) : kNever;
  for (int s = 0; s < kSpaces; ++s)
    for (int r = 0; r < problem_.resources; ++r) {
      most[s][r] = ceiling;
      for (int other = 0; other < kSpaces; ++other)
        if (other != s) most[s][r] -= here.chains[other][r] * (1 - 1e-9);
    }
  return most;
}

Loads LatticeSearch::all_resources() const {
  Loads loads{};
  for (int r = 0; r < problem_.resources; ++r) loads[r] = 1;
  return loads;
}

std::unique_ptr<LatticeSearch::Opened> LatticeSearch::open(const SpatialLayout& layout, double chains_pj) {
  double points = 1;
  std::size_t longest = 1;
  for (const base::Count left : layout.left) {
    const std::size_t divisors = axes_.divisors(left);
    points *= static_cast<double>(divisors);
    longest = std::max(longest, divisors);
  }
  if (points <= most_points() && longest <= kMostDivisors) return open_on(axes_, layout, chains_pj);
  if (longest <= kMostDivisors) {
    const auto whole = open_on(axes_, layout, chains_pj);
    if (!whole) return nullptr;
    leave(whole->bound);
  } else {
    leave(goal_.whole_key(chains_pj, layout.cycles, Prices(problem_, layout).leak_pj_per_cycle()));
  }
  return stopped_ ? nullptr : open_on(coarse_axes_, layout, chains_pj);
}

std::unique_ptr<LatticeSearch::Opened> LatticeSearch::open_on(Axes& axes, const SpatialLayout& layout,
                                                              double chains_pj) {
  auto here = std::make_unique<Opened>(problem_, layout, axes, largest_);
  Loads total{};
  for (int s = 0; s < kSpaces; ++s) {
    here->chains[s] = least_chain_loads(here->boundaries, s);
    for (int r = 0; r < problem_.resources; ++r) total[r] += here->chains[s][r];
  }
  here->least_pj = chains_pj;
  here->cycles = layout.cycles;
  for (int r = 0; r < problem_.resources; ++r) here->cycles = std::max(here->cycles, total[r] * (1 - kEqual));
  if (goal_.drop(goal_.whole_key(chains_pj, here->cycles, here->prices.leak_pj_per_cycle()))) {
    ++tally_.bounded;
    return nullptr;
  }
  bool possible = bound(*here, chains_pj);
  if (possible) {
    const double mu = goal_.exchange(here->prices.leak_pj_per_cycle());
    int scarce = scarcest(here->capacity->loads_of(*here->likely[kEnergy]), here->cycles);
    if (slowed_ && (scarce < 0 || objective_[0] == Metric::kDelay)) scarce = bottleneck_;
    if (limits_.together && (mu > 0 || objective_[0] == Metric::kDelay) && scarce >= 0) {
      here->mu = mu;
      Loads only{};
      only[scarce] = kNever;
      here->slow = slow_, here->traded = traded_;
      if (slow_.answers == 0) here->slow.answer(only, 0, problem_.resources);
      if (traded_.answers == 0) here->traded.answer(only, 0, problem_.resources);
      weigh(*here);
      possible = bound(*here, chains_pj);
    }
  }
  if (possible) return here;
  ++tally_.bounded;
  return nullptr;
}

void LatticeSearch::weigh(Opened& here) const {
  here.criteria.resize(kCriteria);
  here.criteria[kScarce] = {0, here.slow.of};
  // Where energy does not count, a likely answer loads little anywhere.
  here.criteria[kTogether] = {0, all_resources()};
  if (here.mu <= 0) return;
  here.criteria[kTogether] = {1, here.traded.of};
  for (double& weight : here.criteria[kTogether].loads) weight *= here.mu;
}

bool LatticeSearch::bound(Opened& here, double least_pj) {
  here.capacity = std::make_unique<CapacityBound>(here.boundaries, here.criteria, most_loads(here, least_pj), budget_,
                                                  budget_.room() * kForLists);
  here.candidates.clear();
  if (goal_.best()[0] < kNever) {
    base::Ticker clock(budget_, 16);
    const bool large = points_of(here.boundaries) > kQuickPoints;
    const auto keep = [&](const Candidate& candidate) { return !(large && clock.spent()) && !drop(here, candidate); };
    if (here.capacity->list(keep, here.candidates, kFewLooks)) {
      here.bound = {kNever, kNever, kNever};
      Least least{kNever, kNever, kNever};
      for (const Candidate& one : here.candidates) {
        here.bound = std::min(here.bound, bound_of(here, one.terms, one.cycles));
        for (std::size_t k = 0; k < std::min<std::size_t>(here.criteria.size(), kScarce); ++k)
          if (one.terms[k] < least[k]) least[k] = one.terms[k], here.likely[k] = one.keeps;
      }
      stopped_ = stopped_ || clock.was_spent();
      return !here.candidates.empty() && !stopped_;
    }
    here.candidates.clear();
  }
  here.capacity->fill();
  if (!here.capacity->filled()) {
    stopped_ = true;
    return false;
  }
  if (here.capacity->least()[kEnergy] == kNever) return false;
  for (std::size_t k = 0; k < std::min<std::size_t>(here.criteria.size(), kScarce); ++k)
    here.likely[k] = here.capacity->keeps_of_least(static_cast<int>(k));
  here.bound = bound_of(here, here.capacity->least(), 0);
  return !goal_.drop(here.bound);
}

}  // namespace orrery::nest::lattice
