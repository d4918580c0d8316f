// All choices of what to keep under one layout, bounded together before any is tried (lattice_inside.h).
//
// The least energy of the layout is exact, and so is the least mean of loads by any weights. Weights are learnt from
// the loads of the cheapest mapping, round by round, while they raise the bound. What is left then is listed again, by
// the weights that were found, and tried one by one; where the list is too long the levels are descended without it.
// Cost: a table over all choices of what to keep for each criterion and round, milliseconds each; it pays where
// thousands would be tried.
#include <algorithm>
#include <limits>

#include "orrery/engines/nest/search/lattice/lattice_search.h"
#include "orrery/engines/nest/search/objective.h"

namespace orrery::nest::lattice {

namespace {

// Of the memory.
constexpr double kForInside = 1.0 / 3;
// Steps for each point and level that a choice of what to keep takes when it is tried.
constexpr double kStepsOfChoice = 1.5;
// So many times as many are still tried one by one when they have been bounded together.
constexpr std::size_t kSome = 20;
// Of a table over all choices of what to keep; so many take milliseconds.
constexpr double kQuickSteps = 1e6;
// What another choice of weights must raise a bound by to be followed by one more.
constexpr double kGrows = 1.01;
constexpr double kMostCeiling = 1e100;

}  // namespace

std::size_t LatticeSearch::few_candidates(const Opened& here) const {
  if (limits_.few_keeps && goal_.best()[0] < kNever) return *limits_.few_keeps;
  if (!limits_.nested_tiles || goal_.best()[0] == kNever ||
      Inside::most_bytes(here.boundaries) * int{kCriteria} > budget_.room() * kForInside)
    return std::numeric_limits<std::size_t>::max() - 1;
  const double levels = static_cast<double>(problem_.levels.size());
  return static_cast<std::size_t>(Inside::most_steps(here.boundaries) /
                                  (points_of(here.boundaries) * levels * kStepsOfChoice));
}

void LatticeSearch::search_all_keeps(Opened& here) {
  const Triple<Loads> most = most_loads(here, here.least_pj);
  if (!bound_all_keeps(here, most)) return;
  // With the weights that were found, fewer are left.
  if (!bound(here, here.least_pj)) {
    tally_.bounded += !stopped_;
    return;
  }
  here.tables.clear();
  make_tables(here);
  const std::size_t some = std::min(kSome * (few_candidates(here) + 1), most_candidates_);
  if (!list_candidates(here, some)) {
    descend(here, static_cast<int>(problem_.levels.size()), {0, 0, 0}, {}, here.candidates);
    return;
  }
  if (stopped_) return;
  descend_all(here, static_cast<int>(problem_.levels.size()), {0, 0, 0}, {}, {}, {}, most);
}

// The loads of the mapping that is cheapest by criterion k, which is tried.
Loads LatticeSearch::try_cheapest(Opened& here, int k) {
  const Inside::Found found = here.inside[k]->cheapest();
  if (!found.path.empty()) leaf(here.prices, *here.tables[kEnergy], found.keeps, found.path);
  return found.loads;
}

bool LatticeSearch::bound_all_keeps(Opened& here, const Triple<Loads>& most) {
  const double leak_pj = here.prices.leak_pj_per_cycle(), compute = here.prices.layout().cycles;
  here.choices = Inside::choices_below(*here.capacity, static_cast<int>(problem_.levels.size()),
                                       goal_.most_energy_pj(here.cycles, leak_pj) - problem_.compute_pj);
  Least least{std::max(here.least_pj - problem_.compute_pj, 0.0)};
  here.inside.resize(1);
  const auto make = [&](int k) {
    const double most_pj = goal_.most_energy_pj(here.cycles, leak_pj);
    const double most_cycles = goal_.most_active(here.least_pj, leak_pj);
    const double ceiling = k == kEnergy   ? most_pj
                           : k == kScarce ? most_cycles
                           : here.mu > 0  ? most_pj + here.mu * most_cycles
                                          : most_cycles * kMostResources;
    here.inside[k] = std::make_unique<Inside>(here.boundaries, here.criteria[k], std::min(ceiling, kMostCeiling), most,
                                              here.choices, budget_, blocks_);
    least[k] = here.inside[k]->least();
    stopped_ = stopped_ || here.inside[k]->cut_short();
    return !stopped_;
  };
  const auto dropped = [&] {
    if (least[kEnergy] < kNever && least[kScarce] < kNever && least[kTogether] < kNever &&
        !goal_.drop(bound_of(here, least, 0)))
      return false;
    ++tally_.bounded;
    return true;
  };
  here.slow = here.traded = {};
  here.mu = 0;
  here.criteria.resize(1);
  if (!make(kEnergy) || dropped()) return false;
  const Loads loads = try_cheapest(here, kEnergy);
  if (dropped()) return false;
  here.mu = goal_.exchange(leak_pj);
  if (limits_.together && (here.mu > 0 || objective_[0] == Metric::kDelay) && scarcest(loads, here.cycles) >= 0) {
    here.inside.resize(kCriteria);
    here.slow = slow_, here.traded = traded_;
    if (slow_.answers == 0) here.slow.answer(loads, compute, problem_.resources);
    if (traded_.answers == 0) here.traded.answer(loads, compute, problem_.resources);
    weigh(here);
    for (const int k : {int{kScarce}, int{kTogether}}) {
      if (k == kTogether && here.mu <= 0) {
        if (!make(k)) return false;
        continue;
      }
      Weights& weights = k == kScarce ? here.slow : here.traded;
      Weights& learnt = k == kScarce ? slow_ : traded_;
      std::unique_ptr<Inside> best;
      Criterion criterion;
      Weights best_weights;
      double best_mean = -1, best_least = 0;
      const int rounds = rounds_of(here);
      for (int round = 1;; ++round) {
        if (!make(k)) return false;
        learnt = weights;
        if (dropped()) return false;
        const double mean = least[k] + weights.compute * compute * (k == kTogether ? here.mu : 1);
        const bool grows = mean > best_mean * kGrows;
        const Loads answer = try_cheapest(here, k);
        if (mean > best_mean) {
          best_mean = mean, best_least = least[k], best = std::move(here.inside[k]);
          criterion = here.criteria[k], best_weights = weights;
        }
        if (k == kScarce) here.cycles = std::max(here.cycles, mean * (1 - kEqual));
        learnt.answer(answer, compute, problem_.resources);
        if (round == rounds || !grows || scarcest(answer, weights.mean(answer, compute) * kGrows) < 0) break;
        weights = learnt;
        weigh(here);
      }
      weights = best_weights;
      here.inside[k] = std::move(best);
      here.criteria[k] = criterion;
      least[k] = best_least;
      if (dropped()) return false;
    }
  } else {
    here.mu = 0;
  }
  return true;
}

int LatticeSearch::rounds_of(const Opened& here) {
  const double steps = Inside::most_steps(here.boundaries);
  return steps < kQuickSteps ? 8 : steps < 5 * kQuickSteps ? 4 : 2;
}

void LatticeSearch::descend_all(Opened& here, int i, const CapacityBound::Outer& outer, const Keeps& keeps,
                                const Least& terms, const Loads& loads, const Triple<Loads>& most) {
  struct Choice {
    Key bound{};
    std::uint32_t kept = 0;
    Least sum{};
    Loads loads{};
    double cycles = 0;
  };
  std::vector<Choice> choices;
  const int a = i - 1;
  for (std::uint32_t kept = 0; kept < 1u << kSpaces; ++kept) {
    if (!here.capacity->allowed(a, kept)) continue;
    const CapacityBound::Term& own = here.capacity->term(a, kept, outer);
    const CapacityBound::Outer inner = CapacityBound::within(a, kept, outer);
    const Least inside = here.capacity->below(a - 1, inner);
    if (own.cost[kEnergy] == kNever || inside[kEnergy] == kNever) continue;
    Choice choice{{}, kept, terms, loads, here.cycles};
    Least all{};  // weights may be others by now
    choice.sum[kEnergy] += own.cost[kEnergy];
    all[kEnergy] = choice.sum[kEnergy] + inside[kEnergy];
    for (int r = 0; r < problem_.resources; ++r) {
      choice.loads[r] += own.least[r];
      double sum = choice.loads[r];
      for (int s = 0; s < kSpaces && a == 0; ++s) sum += here.boundaries.innermost_loads(s, inner[s] - 1)[r];
      choice.cycles = std::max(choice.cycles, sum * (1 - kEqual));
    }
    choice.bound = bound_of(here, all, choice.cycles);
    if (goal_.drop(choice.bound))
      ++tally_.bounded;
    else
      choices.push_back(choice);
  }
  std::stable_sort(choices.begin(), choices.end(), [](const Choice& x, const Choice& y) { return x.bound < y.bound; });
  for (const Choice& choice : choices) {
    if (out_of_time()) return;
    if (goal_.drop(choice.bound)) {
      ++tally_.bounded;
      continue;
    }
    Keeps next = keeps;
    for (int s = 0; s < kSpaces; ++s) next[s] |= (choice.kept >> s & 1) << a;
    for (auto& table : here.tables) {
      table->set_level(a, next, most);
      if (out_of_time()) return;
    }
    const CapacityBound::Outer inner = CapacityBound::within(a, choice.kept, outer);
    if (!any_tile_of_all(here, a, inner, choice.cycles)) {
      ++tally_.bounded;
      continue;
    }
    if (stopped_) return;
    if (a == 0) {
      Candidate candidate;
      candidate.keeps = next;
      candidate.cycles = choice.cycles;
      search_candidate(here, candidate);
    } else {
      descend_all(here, a, inner, next, choice.sum, choice.loads, most);
    }
  }
}

bool LatticeSearch::any_tile_of_all(const Opened& here, int i, const CapacityBound::Outer& outer, double cycles) {
  const std::size_t criteria = here.tables.size();
  std::array<const float*, kCriteria> inside{};
  Least innermost{};
  for (std::size_t k = 0; k < criteria; ++k) {
    for (int s = 0; s < kSpaces && i == 0; ++s)
      innermost[k] += here.criteria[k].price(here.boundaries.innermost_pj(s, outer[s] - 1),
                                             here.boundaries.innermost_loads(s, outer[s] - 1));
    if (i == 0) continue;
    inside[k] = here.inside[k]->within(i - 1, outer).data();
    stopped_ = stopped_ || here.inside[k]->cut_short();
    if (stopped_) return true;
  }
  const double leak_pj = here.prices.leak_pj_per_cycle();
  const double most_pj = goal_.most_energy_pj(std::max(here.cycles, cycles), leak_pj) - problem_.compute_pj;
  for (const int point : here.tables[kEnergy]->tiles(i)) {
    Least least{};
    for (std::size_t k = 0; k < criteria; ++k) {
      least[k] = here.tables[k]->least_pj(i, point) + (i > 0 ? here.inside[k]->worth(inside[k][point]) : innermost[k]);
      if (k == kEnergy && !(least[k] <= most_pj)) break;
    }
    if (least[kEnergy] <= most_pj && least[kEnergy] < kNever && !goal_.drop(bound_of(here, least, cycles))) return true;
  }
  return false;
}

}  // namespace orrery::nest::lattice
