// Keeps chosen one by one, outermost level first, so that choices that agree outside share their tables.
//
// After each level the tables say what everything outside costs by the tile below it. A choice is dropped where no tile
// that may stand there can lead to something better with what the levels inside cost at least. Of a choice that is
// left, the cheapest path is a mapping; labels decide where its cycles do not meet their bound (lattice_labels.h).
// Cost: a few table levels for each choice that is left, some ten microseconds on a thousand points.
#include <algorithm>
#include <numeric>

#include "orrery/engines/nest/search/lattice/lattice_search.h"
#include "orrery/engines/nest/search/objective.h"

namespace orrery::nest::lattice {

namespace {

// Bytes of a label with its loads.
constexpr double kOfLabel = 190;

}  // namespace

bool LatticeSearch::drop(const Opened& here, const Candidate& candidate) const {
  return goal_.drop(bound_of(here, candidate.least, candidate.cycles));
}

void LatticeSearch::descend(Opened& here, int i, const CapacityBound::Outer& outer, const Least& terms,
                            const std::vector<Candidate>& candidates) {
  struct Group {
    Key bound{kNever, kNever, kNever};
    double energy_pj = kNever;
    std::vector<Candidate> members;
  };
  std::array<Group, 1u << kSpaces> groups;
  for (const Candidate& candidate : candidates) {
    std::uint32_t kept = 0;
    for (int s = 0; s < kSpaces; ++s) kept |= (candidate.keeps[s] >> (i - 1) & 1) << s;
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
      here.tables[k]->set_level(i - 1, group.members.front().keeps, most);
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

double LatticeSearch::least_of_tiles(const Table& table, int i) {
  double least = kNever;
  for (const int point : table.tiles(i)) least = std::min(least, table.least_pj(i, point));
  return least;
}

bool LatticeSearch::any_tile(const Opened& here, int i, CapacityBound::Outer outer, const Candidate& candidate) const {
  std::array<std::array<const double*, kMostLevels>, kCriteria> terms;
  const std::size_t criteria = here.tables.size();
  for (int a = i - 1; a >= 0; --a) {
    std::uint32_t kept = 0;
    for (int s = 0; s < kSpaces; ++s) kept |= (candidate.keeps[s] >> a & 1) << s;
    for (std::size_t k = 0; k < criteria; ++k) {
      const std::vector<double>& term = here.capacity->term_within(a, kept, outer, static_cast<int>(k));
      if (term.empty()) return true;
      terms[k][a] = term.data();
    }
    outer = CapacityBound::within(a, kept, outer);
  }
  const Least innermost = here.capacity->below(-1, outer);
  const double leak_pj = here.prices.leak_pj_per_cycle();
  const double most_pj = goal_.most_energy_pj(std::max(here.cycles, candidate.cycles), leak_pj) - problem_.compute_pj;
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

void LatticeSearch::search_candidate(Opened& here, const Candidate& candidate) {
  Boundaries& boundaries = here.boundaries;
  const double leak_pj = here.prices.leak_pj_per_cycle();
  Loads innermost{};
  double base_pj = problem_.compute_pj;
  for (int s = 0; s < kSpaces; ++s) {
    const int a = __builtin_ctz(candidate.keeps[s]);
    base_pj += boundaries.innermost_pj(s, a);
    for (int r = 0; r < problem_.resources; ++r) innermost[r] += boundaries.innermost_loads(s, a)[r];
  }
  Loads least = innermost;
  for (int s = 0; s < kSpaces; ++s)
    for (int a = 0; a < static_cast<int>(problem_.levels.size()); ++a) {
      const int b = next_keeper(candidate.keeps[s], a);
      if (!(candidate.keeps[s] >> a & 1) || b < 0) continue;
      for (const Boundary::Load& load : boundaries.at(s, a, b).loads) least[load.resource] += load.cycles.back();
    }
  const double cycles = std::max({here.cycles, candidate.cycles, here.prices.cycles(least)});
  const Table& table = *here.tables[kEnergy];
  const auto [least_pj, start] = cheapest(table);
  const Key bound = goal_.whole_key((base_pj + least_pj) * (1 - kEqual), cycles, leak_pj);
  if (goal_.drop(bound)) {
    ++tally_.bounded;
    return;
  }
  const Path path = path_from(table, static_cast<int>(problem_.levels.size()), start);
  const Key found = leaf(here.prices, table, candidate.keeps, path);
  if (compare(found, bound, objective_.size()) <= 0) return;
  bottleneck_ = scarcest(loads_of(boundaries, candidate.keeps, table, path, innermost), cycles);
  const Table* together = nullptr;
  if (here.tables.size() > kTogether) {
    together = here.tables[kTogether].get();
    const Path other = path_from(*together, static_cast<int>(problem_.levels.size()), cheapest(*together).second);
    leaf(here.prices, *together, candidate.keeps, other);
    if (here.inside.empty() && !here.learnt) {
      here.learnt = true;
      const double compute = here.prices.layout().cycles;
      const Table& slow = *here.tables[kScarce];
      slow_ = here.slow, traded_ = here.traded;
      slow_.answer(
          loads_of(boundaries, candidate.keeps, slow,
                   path_from(slow, static_cast<int>(problem_.levels.size()), cheapest(slow).second), innermost),
          compute, problem_.resources);
      traded_.answer(loads_of(boundaries, candidate.keeps, *together, other, innermost), compute, problem_.resources);
    }
  }
  const Table* scarce = together ? here.tables[kScarce].get() : nullptr;
  const LabelProblem labels{boundaries,
                            candidate.keeps,
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
      labels, goal_, [&](const Path& one) { leaf(here.prices, table, candidate.keeps, one); },
      [&] { return out_of_time(); }, tally_);
}

}  // namespace orrery::nest::lattice
