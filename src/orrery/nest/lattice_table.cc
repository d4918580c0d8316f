#include "orrery/nest/lattice_table.h"

#include <algorithm>

#include "orrery/base/check.h"
#include "orrery/base/factor.h"
#include "orrery/nest/objective.h"

namespace orrery::nest::lattice {

using base::Count;

Axis::Axis(Count bound) : value(base::divisors(bound)) {
  const auto primes = base::prime_factors(bound);
  for (std::size_t k = 0; k < value.size(); ++k) {
    std::vector<int> all, prime;
    for (std::size_t m = k + 1; m < value.size(); ++m) {
      if (value[m] % value[k] != 0) continue;
      all.push_back(static_cast<int>(m));
      const Count ratio = value[m] / value[k];
      if (std::any_of(primes.begin(), primes.end(), [&](const auto& p) { return p.first == ratio; }))
        prime.push_back(static_cast<int>(m));
    }
    multiples.push_back(std::move(all));
    prime_multiples.push_back(std::move(prime));
  }
}

Table::Table(const Problem& problem, const Prices& prices, const Keepers& keepers)
    : problem_(&problem), prices_(&prices), keepers_(keepers), levels_(static_cast<int>(problem.levels.size())) {
  for (int d = 0; d < kDims; ++d) {
    axis_[d] = Axis(prices.layout().left[d]);
    size_[d] = static_cast<int>(axis_[d].value.size());
  }
  stride_ = {size_[1] * size_[2], size_[2], 1};
  points_ = size_[0] * size_[1] * size_[2];

  fits_.assign(levels_, std::vector<char>(points_, 1));
  for (int a = 0; a < levels_; ++a) {
    if (!problem.levels[a].capacity) continue;
    for (int p = 0; p < points_; ++p) {
      Count words = 0;
      const Triple<Count> inside = values(p);
      for (int s = 0; s < kSpaces; ++s)
        if (keepers[s] >> a & 1) words += prices.tile(s, a, inside);
      fits_[a][p] = words <= *problem.levels[a].capacity;
    }
  }
  for (int p = 0; p < points_; ++p) {
    if (!fits_[0][p]) continue;
    const Triple<Count> inside = values(p);
    bool allowed = true;
    for (int d = 0; d < kDims && allowed; ++d)
      allowed = std::binary_search(problem.levels[0].allowed[d].begin(), problem.levels[0].allowed[d].end(), inside[d]);
    if (allowed) starts_.push_back(p);
  }
  for (int s = 0; s < kSpaces; ++s) {
    const Axis& axis = axis_[problem.blind[s]];
    prefix_[s].assign(levels_ + 1, std::vector<double>(axis.value.size(), 0));
    for (int a = 0; a < levels_; ++a) {
      prefix_[s][a + 1] = prefix_[s][a];
      const std::uint32_t outer = keepers[s] >> (a + 1);
      if (!(keepers[s] >> a & 1) || outer == 0) continue;
      const int b = a + 1 + __builtin_ctz(outer);
      for (std::size_t x = 0; x < axis.value.size(); ++x)
        prefix_[s][a + 1][x] += prices.boundary_pj(s, a, b, axis.value[x]);
    }
  }
  fill();
}

Triple<Count> Table::values(int point) const {
  const Triple<int> index = at(point);
  return {axis_[0].value[index[0]], axis_[1].value[index[1]], axis_[2].value[index[2]]};
}

template <typename Use>
bool Table::for_each_step(int i, int p, const Use& use) const {
  const Triple<int> index = at(p);
  for (int j = i + 1; j < levels_; ++j) {
    for (int c = 0; c < kDims; ++c) {
      if (!problem_->levels[j].free[c]) continue;
      const int blind = problem_->dataspace[c];
      double closed_pj = 0;
      for (int s = 0; s < kSpaces; ++s)
        if (s != blind) closed_pj += close_pj(s, i, j, index[problem_->blind[s]]);
      for (const int m : axis_[c].multiples[index[c]]) {
        const int next = p + (m - index[c]) * stride_[c];
        const double above_pj = above_[j][c][next];
        if (above_pj < kNever) use(Step{j, c, next}, closed_pj + close_pj(blind, i, j, m) + above_pj);
      }
    }
    if (!fits_[j][p]) return false;
  }
  return true;
}

void Table::fill() {
  value_.assign(levels_, std::vector<double>(points_, kNever));
  above_.assign(levels_, {});
  const Triple<int>& size = size_;
  for (int i = levels_ - 1; i >= 0; --i) {
    std::vector<double>& value = value_[i];
    const auto evaluate = [&](int p) {
      if (!fits_[i][p]) return;
      const Triple<int> index = at(p);
      double least = kNever;
      const bool may_end = for_each_step(i, p, [&](const Step&, double cost_pj) { least = std::min(least, cost_pj); });
      if (p == full() && may_end) {
        double closed = 0;
        for (int s = 0; s < kSpaces; ++s) closed += close_pj(s, i, levels_, index[problem_->blind[s]]);
        least = std::min(least, closed);
      }
      value[p] = least;
    };
    if (i == 0) {
      for (const int p : starts_) evaluate(p);
      break;
    }
    for (int p = 0; p < points_; ++p) evaluate(p);
    for (int c = 0; c < kDims; ++c) {
      if (!problem_->levels[i].free[c]) continue;
      std::vector<double>& above = above_[i][c];
      above = value;
      for (int d = 0; d < kDims; ++d) {
        if (d == c || !problem_->levels[i].free[d]) continue;
        // Larger divisors first: each point takes over the least of its prime multiples.
        for (int p = points_ - 1; p >= 0; --p) {
          const int index = p / stride_[d] % size[d];
          for (const int m : axis_[d].prime_multiples[index])
            above[p] = std::min(above[p], above[p + (m - index) * stride_[d]]);
        }
      }
    }
  }
}

void Table::close_loads(int s, int i, int j, int reuse, Loads& loads) const {
  for (int a = i; a < j; ++a) {
    const std::uint32_t outer = keepers_[s] >> (a + 1);
    if (!(keepers_[s] >> a & 1) || outer == 0) continue;
    prices_->add_boundary(s, a, a + 1 + __builtin_ctz(outer), axis_[problem_->blind[s]].value[reuse], loads);
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
        if (axis_[0].value[x] % axis_[0].value[from[0]] || axis_[1].value[y] % axis_[1].value[from[1]] ||
            axis_[2].value[z] % axis_[2].value[from[2]])
          continue;
        const int to = point({x, y, z});
        if (value_[best.level][to] < reached) reached = value_[best.level][to], q = to;
      }
  best.point = q;
  return best;
}

}  // namespace orrery::nest::lattice
