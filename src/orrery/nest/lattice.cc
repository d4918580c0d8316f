// The lattice search: layouts x keepers, cheapest bound first; inside, a table instead of an enumeration.
//
// Once the fan-outs (a layout) and the keepers of each dataspace are fixed, dataspace s crosses the boundary
// between its keepers a < b once every t_a(d) * run iterations of d, the one dimension it is blind to. So
//     E = E0 + sum_s sum_boundaries price_s(t_a(d) * run_a(s))
// with E0 the computes and what the compute units read, and each bandwidth loaded likewise. Bounds, each
// dropping what cannot beat the best answer (lattice_goal.h):
//     1 layout      every dataspace alone with t * run at its largest, least energy and least loads
//     2 capacity    each level alone with the cheapest tile that fits it, for all keepers at once
//                   (lattice_capacity.h); then energy and the loads of the scarcest bandwidths together
//     3 exact       the least energy from the lattice table (lattice_table.h), the same with loads; where many keepers
//                   are left, of all of them at once (lattice_inside.h)
// Where several bandwidths bind, no single one says how long a mapping takes, but every weighted mean of them does:
// with weights w that sum to 1, D >= sum_r w_r load_r, and E + mu D >= E + mu sum_r w_r load_r. Both are sums over
// boundaries, so tables bound them as they bound energy. The weights are learnt (Weights); any are valid.
// Layouts are listed by rising compute cycles until compulsory energy in so many cycles cannot win, and taken in
// chunks of growing size, by bound 1. Those of a chunk go by bound 2; within one, keepers are chosen outermost
// first, so that choices that agree outside share their tables.
//
// The cheapest path through a table is a mapping; where its cycles meet their bound it is the optimum of its
// candidate, the usual case. Otherwise labels decide (lattice_labels.h).
//
// Every mapping found is evaluated by Model::evaluate, which alone decides. Order of candidates and ties are
// fixed, so the answer is, too.
//
// Memory: a few hundred bytes for each point of the lattice. A layout whose lattice has more points than there is
// room for is bounded as the others are, and searched on some of the divisors only (lattice_boundary.h): that gives
// good mappings and no proof, so the layout's bound remains a bound of the answer.
#include "orrery/nest/lattice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <tuple>

#include "orrery/nest/lattice_boundary.h"
#include "orrery/nest/lattice_capacity.h"
#include "orrery/nest/lattice_chains.h"
#include "orrery/nest/lattice_goal.h"
#include "orrery/nest/lattice_inside.h"
#include "orrery/nest/lattice_labels.h"
#include "orrery/nest/lattice_mapping.h"
#include "orrery/nest/lattice_table.h"
#include "orrery/nest/lattice_weights.h"
#include "orrery/nest/objective.h"

namespace orrery::nest {

using base::Count;
using namespace lattice;

namespace {

// A layout with what every mapping under it costs at least.
struct Start {
  Key bound{};
  std::size_t layout = 0;
  double energy_pj = 0;
};

// Choices of keepers of a layout beyond which their common bound costs less than they do one by one.
constexpr int kFewLooks = 5000;
// Points of a lattice that is searched almost at once: it gives an answer when time is up at the start.
constexpr double kQuickPoints = 10'000;
// Of one dimension; how they divide each other is listed.
constexpr std::size_t kMostDivisors = 5'000;
// Parts of the memory: one layout at work, those that wait beside it, and the lists.
constexpr double kForOne = 1.0 / 2, kForWaiting = 1.0 / 4, kForLists = 1.0 / 16, kForInside = 1.0 / 3;
// Steps for each point and level that a choice of keepers takes when it is tried.
constexpr double kStepsOfChoice = 1.5;
// So many times as many are still tried one by one when they have been bounded together.
constexpr std::size_t kSome = 20;
// Of a table over all keepers; so many take milliseconds.
constexpr double kQuickSteps = 1e6;
// What another choice of weights must raise a bound by to be followed by one more.
constexpr double kGrows = 1.01;
constexpr double kMostCeiling = 1e100;

std::size_t in_room(double bytes, double each, double least, double most) {
  return static_cast<std::size_t>(std::clamp(bytes / each, least, most));
}

double points_of(const Boundaries& boundaries) {
  double points = 1;
  for (int d = 0; d < kDims; ++d) points *= static_cast<double>(boundaries.axis(d).value.size());
  return points;
}

// Bytes that a layout at work takes for each point: tables, fitting tiles, labels seen.
double bytes_of_point(const LatticeProblem& problem) {
  constexpr double kOfTable = (1 + kDims) * sizeof(double), kOfFits = 3 * (1 + sizeof(int) + sizeof(double));
  return static_cast<double>(problem.levels.size()) * (int{kCriteria} * kOfTable + kOfFits + sizeof(std::vector<int>)) +
         sizeof(Triple<int>) + 6 * sizeof(double);
}

class LatticeSearch {
 public:
  LatticeSearch(const LatticeProblem& problem, const std::vector<Metric>& objective, const SearchRules& limits,
                const cost::Budget& budget, GapWatch* watch)
      : problem_(problem),
        objective_(objective),
        limits_(limits),
        budget_(budget),
        watch_(watch),
        goal_(objective, static_cast<double>(limits.max_cycles), problem.latency, problem.whole_cycles),
        largest_(budget.room() * kForLists),
        coarse_axes_(per_axis(most_points())),
        quick_axes_(per_axis(std::min(most_points(), kQuickPoints))),
        most_layouts_(in_room(budget.room() / 4, sizeof(SpatialLayout) + sizeof(Start) + kOfLayout, 100, 1e9)),
        most_candidates_(in_room(budget.room() * kForLists, sizeof(Candidate), 1000, 1e9)),
        chunk_(in_room(budget.room() * kForWaiting, bytes_of_opened(), 1, 256)) {}

  void run(Optimum& optimum) {
    if (const Evaluation* beat = limits_.beat)
      goal_.improve(key_of(objective_, *beat), beat->energy_pj, beat->needed_cycles());
    try {
      search();
    } catch (const std::bad_alloc&) {
      budget_.run_out_of_memory();
      stopped_ = true;
    }
    cost::Certificate& certificate = optimum.certificate;
    certificate.evaluated = tally_.evaluated;
    certificate.pruned = {{"capacity", tally_.unfit}, {"bound", tally_.bounded}, {"dominance", tally_.dominated}};
    optimum.mapping = std::move(mapping_);
    optimum.evaluation = std::move(evaluation_);
    const bool all = !left_ || goal_.drop(*left_);
    certificate.optimal = !stopped_ && all && optimum.mapping;
    optimum.infeasible = !stopped_ && all && !optimum.mapping;
    optimum.out_of_memory = left_ && (limits_.give_way || !all);
    certificate.lower_bound = goal_.best()[0];
    if (stopped_) certificate.lower_bound = std::min(certificate.lower_bound, lower_bound_);
    if (!all) certificate.lower_bound = std::min(certificate.lower_bound, (*left_)[0]);
  }

 private:
  void search() {
    // Layouts with few compute cycles come first: once they have set the goal, few of the slow ones remain.
    const double compulsory = compulsory_pj(problem_) * (1 - kEqual);
    double above = 0, upto = 1.5 * least_cycles(problem_);
    const double fastest = least_cycles(problem_) * (1 - kEqual);
    raise_bound(goal_.key(compulsory, fastest, 0)[0]);
    for (;;) {
      // No leakage: how much there is depends on the layout.
      const Key beyond = goal_.key(compulsory, upto, 0);
      const std::vector<SpatialLayout> listed = layouts(
          problem_, above, upto, [&] { return out_of_time(); }, most_layouts_);
      if (listed.size() >= most_layouts_) leave(goal_.key(compulsory, std::max(above, fastest), 0));
      search_layouts(listed, upto < kNever ? beyond[0] : kNever);
      if (stopped_ || upto == kNever) break;
      if (goal_.drop_from(beyond)) {
        ++tally_.bounded;
        break;
      }
      above = upto;
      upto = goal_.best()[0] < kNever && objective_[0] != Metric::kEnergy
                 ? std::max(2 * upto, goal_.ceiling(compulsory, 0))
                 : kNever;
    }
  }

  // Mappings that the search passes over cost at least so much.
  void leave(const Key& bound) {
    if (limits_.give_way && goal_.drop(bound)) return;
    if (!left_ || bound < *left_) left_ = bound;
    stopped_ = stopped_ || limits_.give_way;
  }

  double most_points() const { return budget_.room() * kForOne / bytes_of_point(problem_); }
  // Three axes alike; where one is shorter, the others might be longer.
  static std::size_t per_axis(double points) { return in_room(std::cbrt(points), 1, 4, 1e9); }

  // Bytes of a layout that waits for its turn, tables apart.
  double bytes_of_opened() const {
    const double side = static_cast<double>(problem_.levels.size()) + 2;
    return side * side * side * side * (sizeof(Least) + 2 * sizeof(int)) + kFewLooks * sizeof(Candidate) / 10.0;
  }

  // Finds a mapping whatever the time limit: the cheapest one of the first layout that is about as fast as any.
  void start_anywhere() {
    for (const double slower : {1.0, 4.0, kNever}) {
      const std::vector<SpatialLayout> first = layouts(
          problem_, 0, slower * least_cycles(problem_), [&] { return budget_.spent(); }, 1);
      if (first.empty()) continue;
      auto here = open(first[0], problem_.compute_pj, budget_.limited());
      if (here) probe(*here);
      return;
    }
  }

  // `beyond`: no mapping under any other layout is below that.
  void search_layouts(const std::vector<SpatialLayout>& all, double beyond) {
    std::vector<Start> starts;
    for (std::size_t k = 0; k < all.size() && !out_of_time(); ++k) {
      const Prices prices(problem_, all[k]);
      const double energy_pj = least_chains_pj(problem_, prices);
      if (energy_pj == kNever) continue;
      const Key bound = goal_.key(problem_.compute_pj + energy_pj, prices.layout().cycles, prices.leak_pj_per_cycle());
      if (goal_.drop(bound))
        ++tally_.bounded;
      else
        starts.push_back({bound, k, problem_.compute_pj + energy_pj});
    }
    std::sort(starts.begin(), starts.end(),
              [](const Start& a, const Start& b) { return std::tie(a.bound, a.layout) < std::tie(b.bound, b.layout); });
    std::size_t chunk = 1;
    for (std::size_t at = 0; at < starts.size() && !stopped_; at += chunk, chunk = std::min(chunk * 4, chunk_)) {
      raise_bound(std::min(starts[at].bound[0], beyond));
      if (goal_.drop_from(starts[at].bound)) {
        tally_.bounded += starts.size() - at;
        break;
      }
      const std::size_t end = std::min(at + chunk, starts.size());
      search_chunk(all, {starts.data() + at, starts.data() + end},
                   std::min(beyond, end < starts.size() ? starts[end].bound[0] : kNever));
    }
  }

  void raise_bound(double bound) { lower_bound_ = std::max(lower_bound_, bound); }

  bool out_of_time() {
    stopped_ = stopped_ || budget_.spent();
    if (watch_ && watch_->watched()) {
      const double bound = left_ ? std::min(lower_bound_, (*left_)[0]) : lower_bound_;
      watch_->report(goal_.best()[0], std::min(bound, goal_.best()[0]));
    }
    return stopped_;
  }

  // For steps that cost less than reading the clock.
  bool ticked_out_of_time() { return stopped_ = stopped_ || ticker_.spent(); }

  // A layout at work.
  struct Opened {
    Opened(const LatticeProblem& problem, const SpatialLayout& layout, Axes& axes, LargestTiles& largest)
        : prices(problem, layout), boundaries(problem, prices, axes, largest) {}

    Prices prices;
    Boundaries boundaries;
    std::unique_ptr<CapacityBound> capacity;
    std::vector<Candidate> candidates;                   // all that may be better, where they are few
    std::array<std::optional<Keepers>, kScarce> likely;  // keepers of the least energy, and of the least together
    Key bound{};
    double least_pj = 0;                  // by bound 1
    double cycles = 0;                    // at least
    Triple<Loads> chains{};               // loads at least, by dataspace
    std::vector<Criterion> criteria{{}};  // energy alone; where a resource is scarce, all
    double mu = 0;
    Weights slow, traded;                         // of the cycles alone, of energy and cycles together
    bool learnt = false;                          // whether they have been answered here
    std::vector<std::unique_ptr<Table>> tables;   // by criterion
    std::vector<std::unique_ptr<Inside>> inside;  // likewise, where there are many keepers to try
    Inside::Choices choices;                      // those that are left then
  };

  // The resource that is the slowest when only energy counts; -1 where that is the compute units.
  int scarcest(const Loads& loads, double cycles) const {
    int scarce = -1;
    for (int r = 0; r < problem_.resources; ++r)
      if (loads[r] > cycles * (1 + kEqual)) cycles = loads[r], scarce = r;
    return scarce;
  }

  // Computes apart.
  Key bound_of(const Opened& here, const Least& least, double cycles) const {
    const double compute = here.prices.layout().cycles;
    return goal_.key((problem_.compute_pj + least[kEnergy]) * (1 - kEqual),
                     std::max({here.cycles, cycles, (least[kScarce] + here.slow.compute * compute) * (1 - kEqual)}),
                     here.prices.leak_pj_per_cycle(),
                     (problem_.compute_pj + least[kTogether] + here.mu * here.traded.compute * compute) * (1 - kEqual),
                     here.mu);
  }

  // What each dataspace may load in a mapping that takes so much energy at least and can still be better.
  Triple<Loads> most_loads(const Opened& here, double energy_pj) const {
    Triple<Loads> most;
    const double ceiling = limits_.ceilings ? goal_.ceiling(energy_pj, here.prices.leak_pj_per_cycle()) : kNever;
    for (int s = 0; s < kSpaces; ++s)
      for (int r = 0; r < problem_.resources; ++r) {
        most[s][r] = ceiling;
        for (int other = 0; other < kSpaces; ++other)
          if (other != s) most[s][r] -= here.chains[other][r] * (1 - 1e-9);
      }
    return most;
  }

  Loads all_resources() const {
    Loads loads{};
    for (int r = 0; r < problem_.resources; ++r) loads[r] = 1;
    return loads;
  }

  // Null where the layout is dropped. `chains_pj`: by bound 1, computes included. Where its lattice is too large, or
  // `quick` asks for a small one, what is opened has some of the divisors only.
  std::unique_ptr<Opened> open(const SpatialLayout& layout, double chains_pj, bool quick = false) {
    double points = 1;
    std::size_t longest = 1;
    for (const Count left : layout.left) {
      const std::size_t divisors = axes_.divisors(left);
      points *= static_cast<double>(divisors);
      longest = std::max(longest, divisors);
    }
    if (quick && points > kQuickPoints) return open_on(quick_axes_, layout, chains_pj);
    if (points <= most_points() && longest <= kMostDivisors) return open_on(axes_, layout, chains_pj);
    if (longest <= kMostDivisors) {
      const auto whole = open_on(axes_, layout, chains_pj);
      if (!whole) return nullptr;
      leave(whole->bound);
    } else {
      leave(goal_.key(chains_pj, layout.cycles, Prices(problem_, layout).leak_pj_per_cycle()));
    }
    return stopped_ ? nullptr : open_on(coarse_axes_, layout, chains_pj);
  }

  std::unique_ptr<Opened> open_on(Axes& axes, const SpatialLayout& layout, double chains_pj) {
    auto here = std::make_unique<Opened>(problem_, layout, axes, largest_);
    Loads total{};
    for (int s = 0; s < kSpaces; ++s) {
      here->chains[s] = least_chain_loads(here->boundaries, s);
      for (int r = 0; r < problem_.resources; ++r) total[r] += here->chains[s][r];
    }
    here->least_pj = chains_pj;
    here->cycles = layout.cycles;
    for (int r = 0; r < problem_.resources; ++r) here->cycles = std::max(here->cycles, total[r] * (1 - kEqual));
    if (goal_.drop(goal_.key(chains_pj, here->cycles, here->prices.leak_pj_per_cycle()))) {
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

  // Criteria by the weights.
  void weigh(Opened& here) const {
    here.criteria.resize(kCriteria);
    here.criteria[kScarce] = {0, here.slow.of};
    // Where energy does not count, a likely answer loads little anywhere.
    here.criteria[kTogether] = {0, all_resources()};
    if (here.mu <= 0) return;
    here.criteria[kTogether] = {1, here.traded.of};
    for (double& weight : here.criteria[kTogether].loads) weight *= here.mu;
  }

  // Bound 2. False where the layout is dropped.
  bool bound(Opened& here, double least_pj) {
    here.capacity = std::make_unique<CapacityBound>(here.boundaries, here.criteria, most_loads(here, least_pj), budget_,
                                                    budget_.room() * kForLists);
    here.candidates.clear();
    if (goal_.best()[0] < kNever) {
      cost::Ticker clock(budget_, 16);
      const bool large = points_of(here.boundaries) > kQuickPoints;
      const auto keep = [&](const Candidate& candidate) { return !(large && clock.spent()) && !drop(here, candidate); };
      if (here.capacity->list(keep, here.candidates, kFewLooks)) {
        here.bound = {kNever, kNever, kNever};
        Least least{kNever, kNever, kNever};
        for (const Candidate& one : here.candidates) {
          here.bound = std::min(here.bound, bound_of(here, one.terms, one.cycles));
          for (std::size_t k = 0; k < std::min<std::size_t>(here.criteria.size(), kScarce); ++k)
            if (one.terms[k] < least[k]) least[k] = one.terms[k], here.likely[k] = one.keepers;
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
      here.likely[k] = here.capacity->keepers_of_least(static_cast<int>(k));
    here.bound = bound_of(here, here.capacity->least(), 0);
    return !goal_.drop(here.bound);
  }

  // `beyond`: the bound of all later chunks.
  void search_chunk(const std::vector<SpatialLayout>& all, std::span<const Start> starts, double beyond) {
    std::vector<std::unique_ptr<Opened>> opened;
    for (const Start& start : starts) {
      if (out_of_time()) return;
      if (goal_.drop(start.bound))
        ++tally_.bounded;
      else if (auto here = open(all[start.layout], start.energy_pj))
        opened.push_back(std::move(here));
    }
    std::stable_sort(opened.begin(), opened.end(), [](const auto& a, const auto& b) { return a->bound < b->bound; });
    double waiting = 0;
    for (std::size_t k = 0; k < opened.size() && !out_of_time(); ++k) {
      probe(*opened[k]);
      waiting += points_of(opened[k]->boundaries) * bytes_of_point(problem_);
      if (waiting <= budget_.room() * kForWaiting) continue;
      waiting -= points_of(opened[k]->boundaries) * bytes_of_point(problem_);
      opened[k]->tables.clear();
      opened[k]->boundaries.forget_points();
    }
    for (std::size_t k = 0; k < opened.size() && !out_of_time(); ++k) {
      Opened& here = *opened[k];
      if (goal_.drop_from(here.bound)) {
        tally_.bounded += opened.size() - k;
        break;
      }
      raise_bound(std::min(here.bound[0], beyond));
      if (here.tables.empty()) make_tables(here);
      const std::size_t few = few_candidates(here);
      if (list_candidates(here, few + 1) && !stopped_ && here.candidates.size() <= few) leave(here.bound);
      if (here.candidates.size() > few)
        search_all_keepers(here);
      else
        descend(here, static_cast<int>(problem_.levels.size()), {0, 0, 0}, {}, here.candidates);
      opened[k].reset();
    }
  }

  // Those that may be better, where they are not listed yet. Whether it stopped short of all of them.
  bool list_candidates(Opened& here, std::size_t most) {
    if (!here.capacity->filled()) return false;
    bool full = false;
    here.capacity->list(
        [&](const Candidate& candidate) {
          const bool kept = !drop(here, candidate);
          tally_.bounded += !kept;
          full = full || here.candidates.size() >= std::min(most, most_candidates_) || ticked_out_of_time();
          return kept && !full;
        },
        here.candidates);
    return full;
  }

  void make_tables(Opened& here) {
    for (const Criterion& criterion : here.criteria)
      here.tables.push_back(std::make_unique<Table>(here.boundaries, criterion, budget_));
  }

  // Mappings that are probably good: the cheapest ones with the keepers that the capacity bound ranks first.
  void probe(Opened& here) {
    Triple<Loads> any;
    for (Loads& loads : any) loads.fill(kNever);
    make_tables(here);
    for (std::size_t k = 0; k < here.criteria.size(); ++k) {
      Table& table = *here.tables[k];
      if (k == kScarce || goal_.drop(here.bound)) continue;
      const Keepers& keepers = *here.likely[k];
      for (int i = static_cast<int>(problem_.levels.size()) - 1; i >= 0; --i) table.set_level(i, keepers, any);
      // A table that was cut short cannot be used; small ones never are.
      if (points_of(here.boundaries) > kQuickPoints && out_of_time()) return;
      const int start = cheapest(table).second;
      if (start >= 0)
        leaf(here.prices, table, keepers, path_from(table, static_cast<int>(problem_.levels.size()), start));
    }
  }

  bool drop(const Opened& here, const Candidate& candidate) const {
    return goal_.drop(bound_of(here, candidate.least, candidate.cycles));
  }

  // The candidates agree on the keepers of levels i and outwards, for which the tables are set; `outer` and
  // `terms` are where those keep each dataspace and what the capacity bound says of them.
  void descend(Opened& here, int i, const CapacityBound::Outer& outer, const Least& terms,
               const std::vector<Candidate>& candidates) {
    struct Group {
      Key bound{kNever, kNever, kNever};
      double energy_pj = kNever;
      std::vector<Candidate> members;
    };
    std::array<Group, 1u << kSpaces> groups;
    for (const Candidate& candidate : candidates) {
      std::uint32_t kept = 0;
      for (int s = 0; s < kSpaces; ++s) kept |= (candidate.keepers[s] >> (i - 1) & 1) << s;
      Group& group = groups[kept];
      group.bound = std::min(group.bound, bound_of(here, candidate.least, candidate.cycles));
      group.energy_pj = std::min(group.energy_pj, candidate.least[kEnergy]);
      group.members.push_back(candidate);
    }
    std::array<std::uint32_t, 1u << kSpaces> order;
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return groups[a].bound < groups[b].bound; });
    for (const std::uint32_t kept : order) {
      Group& group = groups[kept];
      if (out_of_time()) return;
      tally_.bounded += std::erase_if(group.members, [&](const Candidate& one) { return drop(here, one); });
      if (group.members.empty()) continue;
      const Triple<Loads> most = most_loads(here, problem_.compute_pj + group.energy_pj * (1 - kEqual));
      // The tables bound the levels so far better than the terms of the capacity bound do.
      Least sum = here.capacity->term(i - 1, kept, outer).cost;
      for (int k = 0; k < kCriteria; ++k) sum[k] += terms[k];
      for (std::size_t k = 0; k < here.tables.size() && !group.members.empty(); ++k) {
        if (out_of_time()) return;
        here.tables[k]->set_level(i - 1, group.members.front().keepers, most);
        if (out_of_time()) return;
        const double outside = least_of_tiles(*here.tables[k], i - 1);
        if (outside == kNever) {
          tally_.unfit += group.members.size();
          group.members.clear();
        }
        tally_.bounded += std::erase_if(group.members, [&](Candidate& one) {
          one.least[k] = std::max(one.least[k], one.terms[k] - sum[k] + outside);
          return drop(here, one);
        });
      }
      if (!here.inside.empty() && !group.members.empty()) {
        const auto least = std::min_element(group.members.begin(), group.members.end(),
                                            [](const Candidate& a, const Candidate& b) { return a.cycles < b.cycles; });
        const bool any = any_tile_of_all(here, i - 1, CapacityBound::within(i - 1, kept, outer), least->cycles);
        if (stopped_) return;
        if (!any) {
          tally_.bounded += group.members.size();
          continue;
        }
      }
      // With one level left inside, its table costs no more than this.
      tally_.bounded += std::erase_if(group.members, [&](const Candidate& one) {
        return limits_.nested_tiles && i > 2 && !any_tile(here, i - 1, CapacityBound::within(i - 1, kept, outer), one);
      });
      if (group.members.empty()) continue;
      if (i == 1)
        search_candidate(here, group.members.front());
      else
        descend(here, i - 1, CapacityBound::within(i - 1, kept, outer), sum, group.members);
    }
  }

  // So many choices of keepers are tried one by one in the time that it takes to bound all of them together.
  std::size_t few_candidates(const Opened& here) const {
    if (limits_.few_keepers && goal_.best()[0] < kNever) return *limits_.few_keepers;
    if (!limits_.nested_tiles || goal_.best()[0] == kNever ||
        Inside::most_bytes(here.boundaries) * int{kCriteria} > budget_.room() * kForInside)
      return std::numeric_limits<std::size_t>::max() - 1;
    const double levels = static_cast<double>(problem_.levels.size());
    return static_cast<std::size_t>(Inside::most_steps(here.boundaries) /
                                    (points_of(here.boundaries) * levels * kStepsOfChoice));
  }

  // All keepers under one layout, bounded together by each criterion (lattice_inside.h) before any is tried.
  void search_all_keepers(Opened& here) {
    const double leak_pj = here.prices.leak_pj_per_cycle(), compute = here.prices.layout().cycles;
    const Triple<Loads> most = most_loads(here, here.least_pj);
    here.choices = Inside::choices_below(*here.capacity, static_cast<int>(problem_.levels.size()),
                                         goal_.energy_ceiling(here.cycles, leak_pj) - problem_.compute_pj);
    Least least{std::max(here.least_pj - problem_.compute_pj, 0.0)};
    here.inside.resize(1);
    const auto make = [&](int k) {
      const double most_pj = goal_.energy_ceiling(here.cycles, leak_pj);
      const double most_cycles = goal_.ceiling(here.least_pj, leak_pj);
      const double ceiling = k == kEnergy   ? most_pj
                             : k == kScarce ? most_cycles
                             : here.mu > 0  ? most_pj + here.mu * most_cycles
                                            : most_cycles * kMostResources;
      here.inside[k] = std::make_unique<Inside>(here.boundaries, here.criteria[k], std::min(ceiling, kMostCeiling),
                                                most, here.choices, budget_, blocks_);
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
    // The loads of a mapping that costs so little, which is tried.
    const auto loads_of_cheapest = [&](int k) {
      const Inside::Found found = here.inside[k]->cheapest();
      if (!found.path.empty()) leaf(here.prices, *here.tables[kEnergy], found.keepers, found.path);
      return found.loads;
    };
    here.slow = here.traded = {};
    here.mu = 0;
    here.criteria.resize(1);
    if (!make(kEnergy) || dropped()) return;
    const Loads loads = loads_of_cheapest(kEnergy);
    if (dropped()) return;
    here.mu = goal_.exchange(leak_pj);
    if (limits_.together && (here.mu > 0 || objective_[0] == Metric::kDelay) && scarcest(loads, here.cycles) >= 0) {
      here.inside.resize(kCriteria);
      here.slow = slow_, here.traded = traded_;
      if (slow_.answers == 0) here.slow.answer(loads, compute, problem_.resources);
      if (traded_.answers == 0) here.traded.answer(loads, compute, problem_.resources);
      weigh(here);
      for (const int k : {int{kScarce}, int{kTogether}}) {
        if (k == kTogether && here.mu <= 0) {
          if (!make(k)) return;
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
          if (!make(k)) return;
          learnt = weights;
          if (dropped()) return;
          const double mean = least[k] + weights.compute * compute * (k == kTogether ? here.mu : 1);
          const bool grows = mean > best_mean * kGrows;
          const Loads answer = loads_of_cheapest(k);
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
        if (dropped()) return;
      }
    } else {
      here.mu = 0;
    }
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

  // Weights that are tried for one layout at most.
  static int rounds_of(const Opened& here) {
    const double steps = Inside::most_steps(here.boundaries);
    return steps < kQuickSteps ? 8 : steps < 5 * kQuickSteps ? 4 : 2;
  }

  // As descend(), with no list of candidates: `keepers` are those of levels i and outwards, `loads` what they load at
  // least.
  void descend_all(Opened& here, int i, const CapacityBound::Outer& outer, const Keepers& keepers, const Least& terms,
                   const Loads& loads, const Triple<Loads>& most) {
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
    std::stable_sort(choices.begin(), choices.end(),
                     [](const Choice& x, const Choice& y) { return x.bound < y.bound; });
    for (const Choice& choice : choices) {
      if (out_of_time()) return;
      if (goal_.drop(choice.bound)) {
        ++tally_.bounded;
        continue;
      }
      Keepers next = keepers;
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
        candidate.keepers = next;
        candidate.cycles = choice.cycles;
        search_candidate(here, candidate);
      } else {
        descend_all(here, a, inner, next, choice.sum, choice.loads, most);
      }
    }
  }

  // Whether some tile at level i, with whatever keepers further in, may lead to something better.
  bool any_tile_of_all(const Opened& here, int i, const CapacityBound::Outer& outer, double cycles) {
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
    const double most_pj = goal_.energy_ceiling(std::max(here.cycles, cycles), leak_pj) - problem_.compute_pj;
    for (const int point : here.tables[kEnergy]->tiles(i)) {
      Least least{};
      for (std::size_t k = 0; k < criteria; ++k) {
        least[k] =
            here.tables[k]->least_pj(i, point) + (i > 0 ? here.inside[k]->worth(inside[k][point]) : innermost[k]);
        if (k == kEnergy && !(least[k] <= most_pj)) break;
      }
      if (least[kEnergy] <= most_pj && least[kEnergy] < kNever && !goal_.drop(bound_of(here, least, cycles)))
        return true;
    }
    return false;
  }

  static double least_of_tiles(const Table& table, int i) {
    double least = kNever;
    for (const int point : table.tiles(i)) least = std::min(least, table.least_pj(i, point));
    return least;
  }

  // Whether some tile at level i, with what the levels inside cost at least when they have that tile outside, may
  // lead to something better. `outer` is what the levels inside see.
  bool any_tile(const Opened& here, int i, CapacityBound::Outer outer, const Candidate& candidate) const {
    std::array<std::array<const double*, kMostLevels>, kCriteria> terms;
    const std::size_t criteria = here.tables.size();
    for (int a = i - 1; a >= 0; --a) {
      std::uint32_t kept = 0;
      for (int s = 0; s < kSpaces; ++s) kept |= (candidate.keepers[s] >> a & 1) << s;
      for (std::size_t k = 0; k < criteria; ++k) {
        const std::vector<double>& term = here.capacity->term_within(a, kept, outer, static_cast<int>(k));
        if (term.empty()) return true;
        terms[k][a] = term.data();
      }
      outer = CapacityBound::within(a, kept, outer);
    }
    const Least innermost = here.capacity->below(-1, outer);
    const double leak_pj = here.prices.leak_pj_per_cycle();
    const double most_pj = goal_.energy_ceiling(std::max(here.cycles, candidate.cycles), leak_pj) - problem_.compute_pj;
    for (const int point : here.tables[kEnergy]->tiles(i)) {
      Least least = innermost;
      for (std::size_t k = 0; k < criteria; ++k) {
        least[k] += here.tables[k]->least_pj(i, point);
        for (int a = 0; a < i; ++a) least[k] += terms[k][a][point];
        if (k == kEnergy && least[k] > most_pj) break;
      }
      if (least[kEnergy] <= most_pj && least[kEnergy] < kNever && !goal_.drop(bound_of(here, least, candidate.cycles)))
        return true;
    }
    return false;
  }

  // All keepers are chosen and the tables set.
  void search_candidate(Opened& here, const Candidate& candidate) {
    Boundaries& boundaries = here.boundaries;
    const double leak_pj = here.prices.leak_pj_per_cycle();
    Loads innermost{};
    double base_pj = problem_.compute_pj;
    for (int s = 0; s < kSpaces; ++s) {
      const int a = __builtin_ctz(candidate.keepers[s]);
      base_pj += boundaries.innermost_pj(s, a);
      for (int r = 0; r < problem_.resources; ++r) innermost[r] += boundaries.innermost_loads(s, a)[r];
    }
    Loads least = innermost;
    for (int s = 0; s < kSpaces; ++s)
      for (int a = 0; a < static_cast<int>(problem_.levels.size()); ++a) {
        const int b = next_keeper(candidate.keepers[s], a);
        if (!(candidate.keepers[s] >> a & 1) || b < 0) continue;
        for (const Boundary::Load& load : boundaries.at(s, a, b).loads) least[load.resource] += load.cycles.back();
      }
    const double cycles = std::max({here.cycles, candidate.cycles, here.prices.cycles(least)});
    const Table& table = *here.tables[kEnergy];
    const auto [least_pj, start] = cheapest(table);
    const Key bound = goal_.key((base_pj + least_pj) * (1 - kEqual), cycles, leak_pj);
    if (goal_.drop(bound)) {
      ++tally_.bounded;
      return;
    }
    const Path path = path_from(table, static_cast<int>(problem_.levels.size()), start);
    const Key found = leaf(here.prices, table, candidate.keepers, path);
    if (compare(found, bound, objective_.size()) <= 0) return;
    bottleneck_ = scarcest(loads_of(boundaries, candidate.keepers, table, path, innermost), cycles);
    const Table* together = nullptr;
    if (here.tables.size() > kTogether) {
      together = here.tables[kTogether].get();
      const Path other = path_from(*together, static_cast<int>(problem_.levels.size()), cheapest(*together).second);
      leaf(here.prices, *together, candidate.keepers, other);
      if (here.inside.empty() && !here.learnt) {
        here.learnt = true;
        const double compute = here.prices.layout().cycles;
        const Table& slow = *here.tables[kScarce];
        slow_ = here.slow, traded_ = here.traded;
        slow_.answer(
            loads_of(boundaries, candidate.keepers, slow,
                     path_from(slow, static_cast<int>(problem_.levels.size()), cheapest(slow).second), innermost),
            compute, problem_.resources);
        traded_.answer(loads_of(boundaries, candidate.keepers, *together, other, innermost), compute,
                       problem_.resources);
      }
    }
    const Table* scarce = together ? here.tables[kScarce].get() : nullptr;
    const LabelProblem labels{boundaries,
                              candidate.keepers,
                              table,
                              together,
                              scarce,
                              here.slow.of,
                              here.traded.of,
                              here.slow.compute * here.prices.layout().cycles,
                              here.traded.compute * here.prices.layout().cycles,
                              here.mu,
                              base_pj,
                              innermost,
                              cycles,
                              limits_.dominance,
                              in_room(budget_.room() / 8, kOfLabel, 1000, static_cast<double>(limits_.most_labels)),
                              in_room(budget_.room() / 32, kOfLabel, 1000, 1e9)};
    search_labels(
        labels, goal_, [&](const Path& one) { leaf(here.prices, table, candidate.keepers, one); },
        [&] { return out_of_time(); }, tally_);
  }

  Key leaf(const Prices& prices, const Table& table, const Keepers& keepers, const Path& path) {
    ++tally_.evaluated;
    Mapping mapping = mapping_of(problem_, prices.layout(), keepers, table, path);
    Evaluation evaluation = problem_.model->evaluate(mapping);
    const Key found = key_of(objective_, evaluation);
    if (limits_.max_cycles > 0 && evaluation.cycles > limits_.max_cycles) return {kNever, kNever, kNever};
    if (goal_.improve(found, evaluation.energy_pj, evaluation.needed_cycles())) {
      slowed_ = evaluation.needed_cycles() > prices.layout().cycles + problem_.latency;
      mapping_ = std::move(mapping);
      evaluation_ = std::move(evaluation);
    }
    return found;
  }

  const LatticeProblem& problem_;
  const std::vector<Metric>& objective_;
  // Bytes of a label with its loads, and of a layout's list of choices.
  static constexpr double kOfLabel = 190, kOfLayout = 120;

  const SearchRules& limits_;
  const cost::Budget& budget_;
  cost::Ticker ticker_{budget_, 64};
  GapWatch* watch_;
  Goal goal_;
  Blocks blocks_;
  Axes axes_;
  LargestTiles largest_;
  Axes coarse_axes_, quick_axes_;  // with some of the divisors
  const std::size_t most_layouts_, most_candidates_, chunk_;
  std::optional<Key> left_;  // no mapping that the search passed over for want of memory is below
  Tally tally_;
  std::optional<Mapping> mapping_;
  Evaluation evaluation_;
  double lower_bound_ = 0;
  bool slowed_ = false;  // the best answer takes more cycles than its compute units need
  Weights slow_, traded_;
  int bottleneck_ = -1;  // the resource that slowed the last answer that was not the least energy in the least cycles
  bool stopped_ = false;
};

}  // namespace

std::optional<Optimum> optimize_on_lattice(const Model& model, const Space& space, const std::vector<Metric>& objective,
                                           const SearchRules& limits, const cost::Budget& budget, GapWatch* watch) {
  const std::optional<LatticeProblem> problem = describe(model, space);
  if (!problem) return std::nullopt;
  Optimum optimum;
  LatticeSearch(*problem, objective, limits, budget, watch).run(optimum);
  return optimum;
}

}  // namespace orrery::nest
