#include "orrery/engines/nest/search/lattice/lattice_table.h"

#include <algorithm>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/numbers/factor.h"
#include "orrery/engines/nest/search/objective.h"

namespace orrery::nest::lattice {

using base::Count;

namespace {

constexpr int kManyPoints = 50'000;  // a sweep over so many takes longer than a look at the clock

}  // namespace

Table::Table(Boundaries& boundaries, const Criterion& criterion, const base::Budget& budget)
    : boundaries_(&boundaries),
      budget_(&budget),
      at_(&boundaries.points()),
      problem_(&boundaries.problem()),
      criterion_(criterion),
      levels_(static_cast<int>(boundaries.problem().levels.size())) {
  for (int d = 0; d < kDims; ++d) size_[d] = static_cast<int>(axis(d).value.size());
  stride_ = {size_[1] * size_[2], size_[2], 1};
  points_ = size_[0] * size_[1] * size_[2];
  fits_.resize(levels_);
  value_.resize(levels_);
  above_.resize(levels_);
  for (int s = 0; s < kSpaces; ++s)
    close_[s].assign(static_cast<std::size_t>(levels_) * (levels_ + 1) * size_[problem_->blind[s]], 0);
}

void Table::set_level(int i, const Keeps& keeps, const Triple<Loads>& most) {
  std::uint32_t kept = 0;
  for (int s = 0; s < kSpaces; ++s) kept |= (keeps[s] >> i & 1) << s;
  std::vector<double>& value = value_[i];
  value.assign(points_, kNever);
  fits_[i] = &boundaries_->fits(i, kept);
  if (i == 0) starts_ = &boundaries_->starts(kept);
  fill_close(i, keeps, most);
  // Trying every multiple of a few tiles costs less than sweeping over all of them.
  if (tiles(i).size() * 8 < static_cast<std::size_t>(points_))
    fill_few(i);
  else
    fill_all(i);
  if (i > 0) fill_above(i);
}

void Table::fill_close(int i, const Keeps& keeps, const Triple<Loads>& most) {
  for (int s = 0; s < kSpaces; ++s) {
    const std::size_t reuses = size_[problem_->blind[s]];
    std::vector<double> price(reuses, 0);
    const int b = next_keeper(keeps[s], i);
    if ((keeps[s] >> i & 1) && b >= 0) {
      const Boundary& boundary = boundaries_->at(s, i, b);
      price = criterion_.price(boundary);
      for (const Boundary::Load& load : boundary.loads)
        for (std::size_t x = 0; x < reuses; ++x)
          if (load.cycles[x] > most[s][load.resource]) price[x] = kNever;
    }
    double* const from = &close_[s][static_cast<std::size_t>(i) * (levels_ + 1) * reuses];
    for (int j = i + 1; j <= levels_; ++j)
      for (std::size_t x = 0; x < reuses; ++x)
        from[j * reuses + x] = price[x] + (j > i + 1 ? close_pj(s, i + 1, j, static_cast<int>(x)) : 0);
  }
}

Triple<Count> Table::values(int point) const {
  const Triple<int>& index = at(point);
  return {axis(0).value[index[0]], axis(1).value[index[1]], axis(2).value[index[2]]};
}

template <typename Use>
bool Table::for_each_step(int i, int p, const Use& use) const {
  const Triple<int>& index = at(p);
  for (int j = i + 1; j < levels_; ++j) {
    for (int c = 0; c < kDims; ++c) {
      if (!problem_->levels[j].free[c]) continue;
      const int blind = problem_->dataspace[c];
      double closed_pj = 0;
      for (int s = 0; s < kSpaces; ++s)
        if (s != blind) closed_pj += close_pj(s, i, j, index[problem_->blind[s]]);
      if (closed_pj == kNever) continue;
      for (const int m : axis(c).multiples[index[c]]) {
        const int next = p + (m - index[c]) * stride_[c];
        if (!fits(j, next)) break;  // larger ones do not either
        const double cost_pj = closed_pj + close_pj(blind, i, j, m) + above_[j][c][next];
        if (cost_pj < kNever) use(Step{j, c, next}, cost_pj);
      }
    }
    if (!fits(j, p)) return false;
  }
  return true;
}

double Table::ended_pj(int i) const {
  double closed_pj = 0;
  for (int s = 0; s < kSpaces; ++s) closed_pj += close_pj(s, i, levels_, size_[problem_->blind[s]] - 1);
  return closed_pj;
}

void Table::fill_few(int i) {
  base::Ticker clock(*budget_);
  for (const int p : tiles(i)) {
    if (points_ > kManyPoints && clock.spent()) return;
    double least = kNever;
    const bool may_end = for_each_step(i, p, [&](const Step&, double cost_pj) { least = std::min(least, cost_pj); });
    if (p == full() && may_end) least = std::min(least, ended_pj(i));
    value_[i][p] = least;
  }
}

void Table::fill_all(int i) {
  std::vector<double>& value = value_[i];
  run_.resize(points_);
  stand_ = fits_[i]->barrier;  // infinite where the tile may not stand below the next level
  for (int j = i + 1; j < levels_; ++j) {
    for (int c = 0; c < kDims; ++c) {
      if (points_ > kManyPoints && budget_->spent()) return;
      if (problem_->levels[j].free[c]) add_steps(i, j, c, value);
    }
    const double* const barrier = fits_[j]->barrier.data();
    for (int p = 0; p < points_; ++p) stand_[p] += barrier[p];
  }
  if (stand_[full()] < kNever) value[full()] = std::min(value[full()], ended_pj(i));
}

void Table::fill_above(int i) {
  for (int c = 0; c < kDims; ++c) {
    if (!problem_->levels[i].free[c]) continue;
    std::vector<double>& above = above_[i][c];
    above = value_[i];
    for (int d = 0; d < kDims; ++d) {
      if (d == c || !problem_->levels[i].free[d]) continue;
      if (tiles(i).size() * 2 > static_cast<std::size_t>(points_)) {
        take_least_of_multiples(d, above.data(), above.data());
        continue;
      }
      // Larger divisors first, as there; smaller tiles of one that fits do fit.
      for (auto p = tiles(i).rbegin(); p != tiles(i).rend(); ++p) {
        const int index = at(*p)[d];
        for (const int m : axis(d).prime_multiples[index])
          above[*p] = std::min(above[*p], above[*p + (m - index) * stride_[d]]);
      }
    }
  }
}

// into[t] = least of from[t''] over t'' that is t but for a proper multiple in dimension d; with into = from, t
// itself included. Larger divisors first: each point takes over what its prime multiples have.
void Table::take_least_of_multiples(int d, const double* from, double* into) const {
  const int inner = stride_[d];
  const int outer = points_ / (inner * size_[d]);
  if (inner == 1) {
    const std::vector<std::vector<int>>& multiples = axis(d).prime_multiples;
    for (int o = 0; o < outer; ++o, from += size_[d], into += size_[d])
      for (int x = size_[d] - 1; x >= 0; --x) {
        double least = from != into ? kNever : from[x];
        for (const int m : multiples[x]) least = std::min({least, from[m], into[m]});
        into[x] = least;
      }
    return;
  }
  for (int o = 0; o < outer; ++o)
    for (int x = size_[d] - 1; x >= 0; --x) {
      double* const to = into + (static_cast<std::ptrdiff_t>(o) * size_[d] + x) * inner;
      if (from != into) std::fill(to, to + inner, kNever);
      for (const int m : axis(d).prime_multiples[x]) {
        const std::ptrdiff_t away = static_cast<std::ptrdiff_t>(m - x) * inner;
        const double* const one = to + away;
        const double* const own = from + (to - into) + away;
        for (int k = 0; k < inner; ++k) {
          const double least = own[k] < one[k] ? own[k] : one[k];
          to[k] = least < to[k] ? least : to[k];
        }
      }
    }
}

// value[t] = min(value[t], cost of iterating next at level j with innermost loop c). The dataspace that is blind
// to c closes at t(c) f, the others where they stand, so the least over f is a least over multiples.
void Table::add_steps(int i, int j, int c, std::vector<double>& value) {
  const int blind = problem_->dataspace[c];
  const std::vector<double>& above = above_[j][c];
  std::vector<double>& closed = closed_;
  closed.resize(points_);
  const int a = c == 0 ? 1 : 0, b = c == 2 ? 1 : 2;  // the other two dimensions
  const int inner = stride_[c], outer = points_ / (inner * size_[c]);
  for (int o = 0; o < outer; ++o)
    for (int x = 0; x < size_[c]; ++x) {
      const double run_pj = close_pj(blind, i, j, x);
      const std::ptrdiff_t at = (static_cast<std::ptrdiff_t>(o) * size_[c] + x) * inner;
      for (int k = 0; k < inner; ++k) closed[at + k] = run_pj + above[at + k];
    }
  take_least_of_multiples(c, closed.data(), run_.data());
  const double* const first =
      &close_[problem_->dataspace[a]][(static_cast<std::size_t>(i) * (levels_ + 1) + j) * size_[a]];
  const double* const second =
      &close_[problem_->dataspace[b]][(static_cast<std::size_t>(i) * (levels_ + 1) + j) * size_[b]];
  Triple<int> index;
  int p = 0;
  for (index[0] = 0; index[0] < size_[0]; ++index[0])
    for (index[1] = 0; index[1] < size_[1]; ++index[1]) {
      if (c == 2) {
        const double others_pj = first[index[0]] + second[index[1]];
        for (int z = 0; z < size_[2]; ++z, ++p) {
          const double cost_pj = others_pj + run_[p] + stand_[p];
          value[p] = cost_pj < value[p] ? cost_pj : value[p];
        }
      } else {
        const double one_pj = first[index[a]];
        for (int z = 0; z < size_[2]; ++z, ++p) {
          const double cost_pj = one_pj + second[z] + run_[p] + stand_[p];
          value[p] = cost_pj < value[p] ? cost_pj : value[p];
        }
      }
    }
}

Table::Step Table::cheapest(int i, int p) const {
  Step best;
  double least = kNever;
  const bool may_end = for_each_step(i, p, [&](const Step& step, double cost_pj) {
    if (!(cost_pj < least)) return;
    least = cost_pj;
    best = step;
  });
  if (p == full() && may_end) return {levels_, -1, p};
  // From the innermost loop's tile to the one whose V the minimum over the other dimensions came from.
  int q = best.point;
  const Triple<int> from = at(q);
  double reached = kNever;
  Triple<int> limits;
  for (int d = 0; d < kDims; ++d)
    limits[d] = d != best.innermost && problem_->levels[best.level].free[d] ? size_[d] : from[d] + 1;
  for (int x = from[0]; x < limits[0]; ++x)
    for (int y = from[1]; y < limits[1]; ++y)
      for (int z = from[2]; z < limits[2]; ++z) {
        if (axis(0).value[x] % axis(0).value[from[0]] || axis(1).value[y] % axis(1).value[from[1]] ||
            axis(2).value[z] % axis(2).value[from[2]])
          continue;
        const int to = point({x, y, z});
        if (value_[best.level][to] < reached) reached = value_[best.level][to], q = to;
      }
  best.point = q;
  return best;
}

}  // namespace orrery::nest::lattice
