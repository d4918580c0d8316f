// The shortest path has, at each level, a state for each triple of next levels that keep and an edge for each subset
// kept: 8 * sum of (levels - a)^3 edges, each a scan of one list of tiles the first time.
#include "orrery/engines/nest/search/lattice/lattice_capacity.h"

#include <algorithm>
#include <optional>

#include "orrery/engines/nest/search/objective.h"

namespace orrery::nest::lattice {

using base::Count;

namespace {

constexpr std::uint32_t kSubsets = 1u << kSpaces;
constexpr int kMostPoints = 10'000;
constexpr Least kImpossible{kNever, kNever, kNever};

}  // namespace

CapacityBound::CapacityBound(Boundaries& boundaries, const std::vector<Criterion>& criteria, const Triple<Loads>& most,
                             const base::Budget& budget, double room)
    : boundaries_(boundaries),
      problem_(boundaries.problem()),
      criteria_(criteria),
      most_(most),
      budget_(budget),
      room_(room),
      levels_(static_cast<int>(boundaries.problem().levels.size())) {
  tiles_.resize(static_cast<std::size_t>(levels_) * kSubsets);
  const std::size_t side = levels_ + 1;
  term_index_.assign(levels_ * (side + 1) * (side + 1) * (side + 1), -1);
  prices_.resize(static_cast<std::size_t>(kSpaces) * levels_ * levels_);
  fill_chains();
}

bool CapacityBound::allowed(int a, std::uint32_t kept) const {
  const Level& level = problem_.levels[a];
  return (kept & level.must_keep) == (level.must_keep & (kSubsets - 1)) && (kept & ~level.may_keep) == 0;
}

std::size_t CapacityBound::slot(int a, const Outer& outer) const {
  const std::size_t side = levels_ + 1;
  return ((static_cast<std::size_t>(a) * side + outer[0]) * side + outer[1]) * side + outer[2];
}

Least CapacityBound::below(int a, const Outer& outer) const {
  if (a >= 0 && filled()) return below_[slot(a, outer)];
  Least least{};
  if (a >= 0) {
    for (int s = 0; s < kSpaces; ++s)
      for (int k = 0; k < kCriteria; ++k) least[k] += chain(s, a, outer[s])[k];
    return least;
  }
  for (int s = 0; s < kSpaces; ++s) {
    if (outer[s] == 0) return kImpossible;
    for (std::size_t k = 0; k < criteria_.size(); ++k)
      least[k] +=
          criteria_[k].price(boundaries_.innermost_pj(s, outer[s] - 1), boundaries_.innermost_loads(s, outer[s] - 1));
  }
  return least;
}

void CapacityBound::fill_chains() {
  for (int s = 0; s < kSpaces; ++s) {
    chain_[s].assign(static_cast<std::size_t>(levels_) * (levels_ + 1), kImpossible);
    for (int a = 0; a < levels_; ++a)
      for (int outer = 0; outer <= levels_; outer = outer == 0 ? a + 2 : outer + 1) {
        Least& least = chain_[s][a * (levels_ + 1) + outer];
        // From the next keeper inward: reads of the compute units, or what the levels inside make of it.
        const auto inside = [&](int keeper, std::size_t k) {
          if (a > 0) return chain(s, a - 1, keeper)[k];
          return keeper == 0 ? kNever
                             : criteria_[k].price(boundaries_.innermost_pj(s, keeper - 1),
                                                  boundaries_.innermost_loads(s, keeper - 1));
        };
        for (std::size_t k = 0; k < kCriteria; ++k) {
          least[k] = k < criteria_.size() ? kNever : 0;
          if (k >= criteria_.size()) continue;
          if (!(problem_.levels[a].must_keep >> s & 1)) least[k] = inside(outer, k);
          if (!(problem_.levels[a].may_keep >> s & 1)) continue;
          const double own =
              outer == 0 ? 0 : prices(s, a, outer - 1)[k][boundaries_.axis(problem_.blind[s]).value.size() - 1];
          least[k] = std::min(least[k], own + inside(a + 1, k));
        }
      }
  }
}

void CapacityBound::fill() {
  const std::size_t side = levels_ + 1;
  std::vector<Least> below(levels_ * side * side * side, kImpossible);
  std::vector<std::array<std::uint8_t, kCriteria>> choice(below.size());
  base::Ticker clock(budget_, 16);
  double points = 1;
  for (int d = 0; d < kDims; ++d) points *= static_cast<double>(boundaries_.axis(d).value.size());
  const bool large = points > kMostPoints;
  for (int a = 0; a < levels_; ++a) {
    Outer outer;
    // States that a level outside can hand on: nowhere yet, or one of those levels.
    const auto next = [&](int b) { return b == 0 ? a + 2 : b + 1; };
    for (outer[0] = 0; outer[0] <= levels_; outer[0] = next(outer[0]))
      for (outer[1] = 0; outer[1] <= levels_; outer[1] = next(outer[1]))
        for (outer[2] = 0; outer[2] <= levels_; outer[2] = next(outer[2])) {
          const std::size_t here = slot(a, outer);
          if (large && clock.spent()) return;
          for (std::uint32_t kept = 0; kept < kSubsets; ++kept) {
            if (!allowed(a, kept)) continue;
            const Outer seen = within(a, kept, outer);
            const Least inner = a == 0 ? this->below(-1, seen) : below[slot(a - 1, seen)];
            if (inner[kEnergy] == kNever) continue;
            const Least& own = term(a, kept, outer).cost;
            for (int k = 0; k < kCriteria; ++k) {
              if (!(inner[k] + own[k] < below[here][k])) continue;
              below[here][k] = inner[k] + own[k];
              choice[here][k] = static_cast<std::uint8_t>(kept);
            }
          }
        }
  }
  below_ = std::move(below);
  if (least()[kEnergy] == kNever) return;
  for (int k = 0; k < static_cast<int>(criteria_.size()); ++k) {
    Outer outer{0, 0, 0};
    for (int a = levels_ - 1; a >= 0; --a) {
      const std::uint32_t kept = choice[slot(a, outer)][k];
      for (int s = 0; s < kSpaces; ++s) keeps_of_least_[k][s] |= (kept >> s & 1) << a;
      outer = within(a, kept, outer);
    }
  }
}

Loads CapacityBound::loads_of(const Keeps& keeps) {
  Loads loads{};
  Outer outer{0, 0, 0};
  for (int a = levels_ - 1; a >= 0; --a) {
    std::uint32_t kept = 0;
    for (int s = 0; s < kSpaces; ++s) kept |= (keeps[s] >> a & 1) << s;
    const Term& own = term(a, kept, outer);
    for (int r = 0; r < problem_.resources; ++r) loads[r] += own.chosen[r];
    outer = within(a, kept, outer);
  }
  for (int s = 0; s < kSpaces; ++s)
    for (int r = 0; r < problem_.resources; ++r) loads[r] += boundaries_.innermost_loads(s, outer[s] - 1)[r];
  return loads;
}

std::size_t CapacityBound::term_slot(int a, std::uint32_t kept, const Outer& outer) const {
  std::size_t index = a;
  for (int s = 0; s < kSpaces; ++s) index = index * (levels_ + 2) + (kept >> s & 1 ? outer[s] + 1 : 0);
  return index;
}

// Two cases, for each dimension c whose run the level may have. The run ends within t: the dataspace blind to
// c is reused t(c) times at most, the others as the cheapest fitting tile that is no larger than t has it, for
// which a side of 1 along c leaves the most room. Or it ends further out: then a's tile is t and must fit.
const std::vector<double>& CapacityBound::term_within(int a, std::uint32_t kept, const Outer& outer, int criterion) {
  std::vector<double>& found = terms_within_[term_slot(a, kept, outer)][criterion];
  Triple<int> size, stride;
  for (int d = 0; d < kDims; ++d) size[d] = static_cast<int>(boundaries_.axis(d).value.size());
  stride = {size[1] * size[2], size[2], 1};
  const int points = size[0] * size[1] * size[2];
  const double bytes = points * static_cast<double>(sizeof(double));
  if (!found.empty() || points > kMostPoints || bytes > room_) return found;
  room_ -= bytes;
  Triple<std::vector<double>> price;
  for (int d = 0; d < kDims; ++d) {
    const int s = problem_.dataspace[d];
    price[d].assign(size[d], 0);
    if (!(kept >> s & 1) || outer[s] == 0) continue;
    const Boundary& boundary = boundaries_.at(s, a, outer[s] - 1);
    const double* const prices = this->prices(s, a, outer[s] - 1)[criterion];
    price[d].assign(prices, prices + size[d]);
    for (const Boundary::Load& load : boundary.loads)
      for (int x = 0; x < size[d] && load.cycles[x] > most_[s][load.resource]; ++x) price[d][x] = kNever;
  }
  const std::vector<char>& fits = boundaries_.fits(a, kept).at;
  found.assign(points, kNever);
  for (int c = 0; c < kDims; ++c) {
    const int p = c == 0 ? 1 : 0, q = c == 2 ? 1 : 2;
    std::vector<double> least(static_cast<std::size_t>(size[p]) * size[q], kNever);
    for (int x = 0; x < size[p]; ++x)
      for (int y = 0; y < size[q]; ++y) {
        double& here = least[static_cast<std::size_t>(x) * size[q] + y];
        if (fits[x * stride[p] + y * stride[q]]) here = price[p][x] + price[q][y];
        if (x > 0) here = std::min(here, least[static_cast<std::size_t>(x - 1) * size[q] + y]);
        if (y > 0) here = std::min(here, least[static_cast<std::size_t>(x) * size[q] + y - 1]);
      }
    for (int x = 0; x < size[p]; ++x)
      for (int y = 0; y < size[q]; ++y) {
        const double others = least[static_cast<std::size_t>(x) * size[q] + y];
        const double outside = price[p][x] + price[q][y] + price[c].back();
        for (int z = 0; z < size[c]; ++z) {
          const int point = x * stride[p] + y * stride[q] + z * stride[c];
          double cost = others + price[c][z];
          if (fits[point]) cost = std::min(cost, outside);
          found[point] = std::min(found[point], cost);
        }
      }
  }
  return found;
}

const CapacityBound::Term& CapacityBound::term(int a, std::uint32_t kept, const Outer& outer) {
  const std::size_t index = term_slot(a, kept, outer);
  if (term_index_[index] >= 0) return terms_[term_index_[index]];
  term_index_[index] = static_cast<int>(terms_.size());
  Term& found = terms_.emplace_back();
  found.cost = kImpossible;
  Triple<const Boundary*> crossing{};
  Triple<int> first{};  // the least reuse under the ceiling
  std::uint32_t loaded = 0;
  bool any = false;
  for (int s = 0; s < kSpaces; ++s) {
    if (!(kept >> s & 1) || outer[s] == 0) continue;
    crossing[s] = &boundaries_.at(s, a, outer[s] - 1);
    any = true;
    for (const Boundary::Load& load : crossing[s]->loads) {
      loaded |= 1u << load.resource;
      while (first[s] < static_cast<int>(load.cycles.size()) && load.cycles[first[s]] > most_[s][load.resource])
        ++first[s];
    }
  }
  auto& shared = tiles_[static_cast<std::size_t>(a) * kSubsets + kept];
  if (!shared) shared = boundaries_.largest(a, kept);
  const LargestTiles::List& tiles = *shared;
  if (tiles.empty()) return found;
  if (!any) {
    found.cost = {};
    return found;
  }
  for (std::size_t k = criteria_.size(); k < kCriteria; ++k) found.cost[k] = 0;
  // What is to be summed over the dataspaces: prices by each criterion, loads of each resource.
  struct Column {
    double* least;
    Triple<const double*> by_reuse{};
  };
  std::array<Column, kCriteria + kMostResources> columns;
  int count = 0;
  for (std::size_t k = 0; k < criteria_.size(); ++k) {
    Column& column = columns[count++] = {&found.cost[k]};
    for (int s = 0; s < kSpaces; ++s)
      if (crossing[s]) column.by_reuse[s] = prices(s, a, outer[s] - 1)[k];
  }
  for (int r = 0; r < problem_.resources; ++r) {
    if (!(loaded >> r & 1)) continue;
    found.least[r] = kNever;
    Column& column = columns[count++] = {&found.least[r]};
    for (int s = 0; s < kSpaces; ++s) {
      if (!crossing[s]) continue;
      for (const Boundary::Load& load : crossing[s]->loads)
        if (load.resource == r) column.by_reuse[s] = load.cycles.data();
    }
  }
  Triple<int> best_reuse{};
  for (const Triple<int>& tile : tiles) {
    Triple<int> reuse;
    for (int s = 0; s < kSpaces; ++s) reuse[s] = tile[problem_.blind[s]];
    for (int run = 0; run < kSpaces; ++run) {  // the dataspace that has the run
      if (!crossing[run]) continue;
      Triple<int> with_run = reuse;
      with_run[run] = static_cast<int>(crossing[run]->pj.size()) - 1;
      if (with_run[0] < first[0] || with_run[1] < first[1] || with_run[2] < first[2]) continue;
      const double least_pj = found.cost[kEnergy];
      for (int k = 0; k < count; ++k) {
        const Column& column = columns[k];
        double sum = 0;
        for (int s = 0; s < kSpaces; ++s)
          if (column.by_reuse[s]) sum += column.by_reuse[s][with_run[s]];
        if (sum < *column.least) *column.least = sum;
      }
      if (found.cost[kEnergy] < least_pj) best_reuse = with_run;
    }
  }
  if (found.cost[kEnergy] == kNever) return found;
  for (int s = 0; s < kSpaces; ++s)
    if (crossing[s])
      for (const Boundary::Load& load : crossing[s]->loads) found.chosen[load.resource] += load.cycles[best_reuse[s]];
  return found;
}

const CapacityBound::ByCriterion& CapacityBound::prices(int s, int a, int b) {
  ByCriterion& prices = prices_[(static_cast<std::size_t>(s) * levels_ + a) * levels_ + b];
  if (prices[0] != nullptr) return prices;
  const Boundary& boundary = boundaries_.at(s, a, b);
  for (std::size_t k = 0; k < criteria_.size(); ++k)
    prices[k] = k == kEnergy ? boundary.pj.data() : own_prices_.emplace_back(criteria_[k].price(boundary)).data();
  return prices;
}

}  // namespace orrery::nest::lattice
