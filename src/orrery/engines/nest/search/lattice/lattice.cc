// The lattice search: layouts x what is kept, cheapest bound first; inside, a table instead of an enumeration.
//
// Once the fan-outs (a layout) and what is kept of each dataspace are fixed, dataspace s crosses the boundary
// between the levels a < b that keep it once every t_a(d) * run iterations of d, the one dimension it is blind to. So
//     E = E0 + sum_s sum_boundaries price_s(t_a(d) * run_a(s))
// with E0 the computes and what the compute units read, and each bandwidth loaded likewise.
//
// For example C[m,n] += A[m,k] B[k,n], 4 x 4 x 4, above a buffer of 14 words, where a word that crosses costs 1. A is
// blind to n, B to m, C to k. In the table stand tiles, not loops:
//     tile m 2, n 2, k 1, 8 words; k innermost outside, a run of 4 for C   A 64/2, B 64/2, C 64/(1*4)          80
//     tile m 4, n 2, k 1, 14 words; the same                               A 64/2, B 64/4, C 64/(1*4)          64
//     that tile; n innermost outside, a run of 2 for A                     A 64/(2*2), B 64/4, C 64, 48 back   144
// 64 is the least: larger tiles do not fit, and of smaller ones each word crosses at least as often.
//
// Bounds, each
// dropping what cannot beat the best answer (goal.h):
//     1 layout      every dataspace alone with t * run at its largest, least energy and least loads
//     2 capacity    each level alone with the cheapest tile that fits it, for all choices of what to keep at once
//                   (lattice_capacity.h); then energy and the loads of the scarcest bandwidths together
//     3 exact       the least energy from the lattice table (lattice_table.h), the same with loads; where many choices
//                   are left, of all of them at once (lattice_inside.h)
// Where several bandwidths bind, no single one says how long a mapping takes, but every weighted mean of them does:
// with weights w that sum to 1, D >= sum_r w_r load_r, and E + mu D >= E + mu sum_r w_r load_r. Both are sums over
// boundaries, so tables bound them as they bound energy. The weights are learnt (Weights); any are valid.
// Layouts are listed by rising compute cycles until compulsory energy in so many cycles cannot win, and taken in
// chunks of growing size, by bound 1. Those of a chunk go by bound 2; within one, what to keep is chosen outermost
// first, so that choices that agree outside share their tables.
//
// The cheapest path through a table is a mapping; where its cycles meet their bound it is the optimum of its
// candidate, the usual case. Otherwise labels decide (lattice_labels.h).
//
// Every mapping found is evaluated by Model::evaluate, which alone decides. Order of candidates and ties are
// fixed, so the answer is, too.
//
// Cost: 0.13 ms in the median for a GEMM of BERT on gemmini (an idle machine). The search over tiles would find the
// same, but does not take over: of 14 GEMMs of BERT on gemmini and PIM, in turn on one busy machine, it took 3 to 9
// times as long (CPU time, on gemmini: KTQ of BERT-large 0.64 against 0.18 ms, Out 2.7 against 0.45, KQV 3.8 against
// 0.89).
//
// Memory: a few hundred bytes for each point of the lattice. A layout whose lattice has more points than there is
// room for is bounded as the others are, and searched on some of the divisors only (lattice_boundary.h): that gives
// good mappings and no proof, so the layout's bound remains a bound of the answer.
#include "orrery/engines/nest/search/lattice/lattice.h"

#include <algorithm>
#include <new>
#include <tuple>

#include "orrery/engines/nest/search/lattice/lattice_chains.h"
#include "orrery/engines/nest/search/lattice/lattice_search.h"
#include "orrery/engines/nest/search/objective.h"

namespace orrery::nest::lattice {

namespace {

// Parts of the memory: one layout at work, and those that wait beside it.
constexpr double kForOne = 1.0 / 2, kForWaiting = 1.0 / 4;
// Bytes of a layout's list of choices.
constexpr double kOfLayout = 120;

// A ceiling must not cut off what equals the best but for rounding.
Goal::Margins margins(const LatticeProblem& problem, base::Count max_cycles) {
  return {.ceiling = 1 + 1e-9,
          .product = 1 - 4 * kEqual,
          .fewer_cycles = 1,
          .most_active = max_cycles > 0 ? static_cast<double>(max_cycles) - problem.latency : kNever};
}

}  // namespace

LatticeSearch::LatticeSearch(const LatticeProblem& problem, const std::vector<Metric>& objective,
                             const SearchRules& limits, const base::Budget& budget, GapWatch* watch)
    : problem_(problem),
      objective_(objective),
      limits_(limits),
      budget_(budget),
      watch_(watch),
      goal_(objective, limits, problem.latency, margins(problem, limits.max_cycles)),
      largest_(budget.room() * kForLists),
      coarse_axes_(per_axis(most_points())),
      most_layouts_(in_room(budget.room() / 4, sizeof(SpatialLayout) + sizeof(BoundedLayout) + kOfLayout, 100, 1e9)),
      most_candidates_(in_room(budget.room() * kForLists, sizeof(Candidate), 1000, 1e9)),
      chunk_(in_room(budget.room() * kForWaiting, bytes_of_opened(), 1, 256)) {}

Optimum LatticeSearch::run() {
  try {
    search();
  } catch (const std::bad_alloc&) {
    budget_.run_out_of_memory();
    stopped_ = true;
  }
  const bool all = !left_ || goal_.drop(*left_);
  Optimum optimum =
      goal_.answer(!stopped_ && all, std::min(stopped_ ? lower_bound_ : kNever, all ? kNever : (*left_)[0]));
  optimum.out_of_memory = left_ && (limits_.give_way || !all);
  tally_.write(optimum.certificate);
  return optimum;
}

void LatticeSearch::search() {
  // Layouts with few compute cycles come first: once they have set the goal, few of the slow ones remain.
  const double compulsory = compulsory_pj(problem_) * (1 - kEqual);
  double above = 0, upto = 1.5 * least_cycles(problem_);
  const double fastest = least_cycles(problem_) * (1 - kEqual);
  raise_bound(goal_.whole_key(compulsory, fastest, 0)[0]);
  for (;;) {
    // No leakage: how much there is depends on the layout.
    const Key beyond = goal_.whole_key(compulsory, upto, 0);
    const std::vector<SpatialLayout> listed = layouts(
        problem_, above, upto, [&] { return out_of_time(); }, most_layouts_);
    if (listed.size() >= most_layouts_) leave(goal_.whole_key(compulsory, std::max(above, fastest), 0));
    search_layouts(listed, upto < kNever ? beyond[0] : kNever);
    if (stopped_ || upto == kNever) break;
    if (goal_.drop_from(beyond)) {
      ++tally_.bounded;
      break;
    }
    above = upto;
    upto = goal_.best()[0] < kNever && objective_[0] != Metric::kEnergy
               ? std::max(2 * upto, goal_.most_active(compulsory, 0))
               : kNever;
  }
}

void LatticeSearch::leave(const Key& bound) {
  if (limits_.give_way && goal_.drop(bound)) return;
  if (!left_ || bound < *left_) left_ = bound;
  stopped_ = stopped_ || limits_.give_way;
}

double LatticeSearch::most_points() const {
  return budget_.room() * kForOne / bytes_of_point(problem_);
}

double LatticeSearch::bytes_of_opened() const {
  const double side = static_cast<double>(problem_.levels.size()) + 2;
  return side * side * side * side * (sizeof(Least) + 2 * sizeof(int)) + kFewLooks * sizeof(Candidate) / 10.0;
}

void LatticeSearch::search_layouts(const std::vector<SpatialLayout>& all, double beyond) {
  std::vector<BoundedLayout> starts;
  for (std::size_t k = 0; k < all.size() && !out_of_time(); ++k) {
    const Prices prices(problem_, all[k]);
    const double energy_pj = least_chains_pj(problem_, prices);
    if (energy_pj == kNever) continue;
    const Key bound =
        goal_.whole_key(problem_.compute_pj + energy_pj, prices.layout().cycles, prices.leak_pj_per_cycle());
    if (goal_.drop(bound))
      ++tally_.bounded;
    else
      starts.push_back({bound, k, problem_.compute_pj + energy_pj});
  }
  std::sort(starts.begin(), starts.end(), [](const BoundedLayout& a, const BoundedLayout& b) {
    return std::tie(a.bound, a.layout) < std::tie(b.bound, b.layout);
  });
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

bool LatticeSearch::out_of_time() {
  stopped_ = stopped_ || budget_.spent();
  if (watch_ && watch_->watched()) {
    const double bound = left_ ? std::min(lower_bound_, (*left_)[0]) : lower_bound_;
    watch_->report(goal_.best()[0], std::min(bound, goal_.best()[0]));
  }
  return stopped_;
}

void LatticeSearch::search_chunk(const std::vector<SpatialLayout>& all, std::span<const BoundedLayout> starts,
                                 double beyond) {
  std::vector<std::unique_ptr<Opened>> opened;
  Key least{kNever, kNever, kNever};
  for (const BoundedLayout& start : starts) {
    if (out_of_time()) return;
    if (goal_.drop(start.bound))
      ++tally_.bounded;
    else if (auto here = open(all[start.layout], start.energy_pj)) {
      // What it finds drops some of those that are still to be opened.
      if (here->bound < least) least = here->bound, probe(*here);
      opened.push_back(std::move(here));
    }
  }
  std::stable_sort(opened.begin(), opened.end(), [](const auto& a, const auto& b) { return a->bound < b->bound; });
  double waiting = 0;
  for (std::size_t k = 0; k < opened.size() && !out_of_time(); ++k) {
    if (opened[k]->tables.empty()) probe(*opened[k]);
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
      search_all_keeps(here);
    else
      descend(here, static_cast<int>(problem_.levels.size()), {0, 0, 0}, {}, here.candidates);
    opened[k].reset();
  }
}

bool LatticeSearch::list_candidates(Opened& here, std::size_t most) {
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

void LatticeSearch::make_tables(Opened& here) {
  for (const Criterion& criterion : here.criteria)
    here.tables.push_back(std::make_unique<Table>(here.boundaries, criterion, budget_));
}

void LatticeSearch::probe(Opened& here) {
  Triple<Loads> any;
  for (Loads& loads : any) loads.fill(kNever);
  make_tables(here);
  for (std::size_t k = 0; k < here.criteria.size(); ++k) {
    Table& table = *here.tables[k];
    if (k == kScarce || goal_.drop(here.bound)) continue;
    const Keeps& keeps = *here.likely[k];
    for (int i = static_cast<int>(problem_.levels.size()) - 1; i >= 0; --i) table.set_level(i, keeps, any);
    // A table that was cut short cannot be used; small ones never are.
    if (points_of(here.boundaries) > kQuickPoints && out_of_time()) return;
    const int start = cheapest(table).second;
    if (start >= 0) leaf(here.prices, table, keeps, path_from(table, static_cast<int>(problem_.levels.size()), start));
  }
}

Key LatticeSearch::leaf(const Prices& prices, const Table& table, const Keeps& keeps, const Path& path) {
  ++tally_.evaluated;
  const Mapping mapping = mapping_of(problem_, prices.layout(), keeps, table, path);
  const Evaluation evaluation = problem_.model->evaluate(mapping);
  if (goal_.too_many_cycles(evaluation)) return {kNever, kNever, kNever};
  if (goal_.offer(mapping, evaluation))
    slowed_ = evaluation.needed_cycles() > prices.layout().cycles + problem_.latency;
  return key_of(objective_, evaluation);
}

}  // namespace orrery::nest::lattice

namespace orrery::nest {

std::optional<Optimum> optimize_on_lattice(const Model& model, const Space& space, const std::vector<Metric>& objective,
                                           const SearchRules& limits, const base::Budget& budget, GapWatch* watch) {
  const std::optional<lattice::LatticeProblem> problem = lattice::describe(model, space);
  if (!problem) return std::nullopt;
  return lattice::LatticeSearch(*problem, objective, limits, budget, watch).run();
}

}  // namespace orrery::nest
