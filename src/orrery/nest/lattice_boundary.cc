#include "orrery/nest/lattice_boundary.h"

#include <algorithm>

#include "orrery/base/factor.h"
#include "orrery/nest/objective.h"

namespace orrery::nest::lattice {

using base::Count;

namespace {

// The divisors that are left when primes are tied together, the two least factors at a time, until so few are left.
std::vector<Count> some_divisors(Count bound, std::size_t most) {
  std::vector<Count> factors;
  for (const auto& [prime, exponent] : base::prime_factors(bound)) factors.insert(factors.end(), exponent, prime);
  for (;;) {
    std::vector<Count> found{1};
    for (const Count factor : factors) {
      const std::size_t before = found.size();
      for (std::size_t k = 0; k < before; ++k) found.push_back(found[k] * factor);
      std::sort(found.begin(), found.end());
      found.erase(std::unique(found.begin(), found.end()), found.end());
    }
    if (found.size() <= std::max<std::size_t>(most, 2) || factors.size() < 2) return found;
    std::sort(factors.begin(), factors.end());
    factors[1] *= factors[0];
    factors.erase(factors.begin());
  }
}

}  // namespace

Axis::Axis(Count bound, std::size_t most) : value(base::divisors(bound)) {
  const bool all_of_them = value.size() <= most;
  if (!all_of_them) value = some_divisors(bound, most);
  const auto primes = base::prime_factors(bound);
  for (std::size_t k = 0; k < value.size(); ++k) {
    std::vector<int> all, prime;
    for (std::size_t m = k + 1; m < value.size(); ++m) {
      if (value[m] % value[k] != 0) continue;
      const Count ratio = value[m] / value[k];
      const bool next = all_of_them
                            ? std::any_of(primes.begin(), primes.end(), [&](const auto& p) { return p.first == ratio; })
                            : std::none_of(all.begin(), all.end(), [&](int b) { return value[m] % value[b] == 0; });
      all.push_back(static_cast<int>(m));
      if (next) prime.push_back(static_cast<int>(m));
    }
    multiples.push_back(std::move(all));
    prime_multiples.push_back(std::move(prime));
  }
}

std::size_t Axes::divisors(Count bound) {
  const auto [place, fresh] = divisors_.try_emplace(bound, 1);
  if (fresh)
    for (const auto& [prime, exponent] : base::prime_factors(bound)) place->second *= exponent + 1;
  return place->second;
}

std::vector<double> Criterion::price(const Boundary& boundary) const {
  std::vector<double> price = boundary.pj;
  for (double& one : price) one *= energy;
  for (const Boundary::Load& load : boundary.loads) {
    const double weight = loads[load.resource];
    if (weight <= 0) continue;
    for (std::size_t x = 0; x < price.size(); ++x) price[x] += weight * load.cycles[x];
  }
  return price;
}

double Criterion::price(double energy_pj, const Loads& cycles) const {
  double price = energy * energy_pj;
  for (std::size_t r = 0; r < loads.size(); ++r) price += loads[r] * cycles[r];
  return price;
}

Boundaries::Boundaries(const LatticeProblem& problem, const Prices& prices, Axes& axes)
    : problem_(&problem), prices_(&prices) {
  const std::size_t levels = problem.levels.size();
  for (int d = 0; d < kDims; ++d) axis_[d] = &axes.of(prices.layout().left[d]);
  boundary_.resize(kSpaces * levels * levels);
  fits_.resize(levels << kSpaces);
  for (int s = 0; s < kSpaces; ++s) {
    innermost_loads_[s].resize(levels);
    for (std::size_t b = 0; b < levels; ++b) {
      innermost_pj_[s].push_back(prices.innermost_pj(s, static_cast<int>(b)));
      prices.add_innermost(s, static_cast<int>(b), innermost_loads_[s][b]);
    }
  }
}

const Boundary& Boundaries::at(int s, int a, int b) {
  const std::size_t levels = problem_->levels.size();
  Boundary& boundary = boundary_[(static_cast<std::size_t>(s) * levels + a) * levels + b];
  if (!boundary.pj.empty()) return boundary;
  const std::vector<Count>& reuse = axis_[problem_->blind[s]]->value;
  std::vector<Loads> loads(reuse.size());
  for (std::size_t x = 0; x < reuse.size(); ++x) {
    boundary.pj.push_back(prices_->boundary_pj(s, a, b, reuse[x]));
    prices_->add_boundary(s, a, b, reuse[x], loads[x]);
  }
  for (int r = 0; r < problem_->resources; ++r) {
    if (loads.front()[r] <= 0) continue;
    Boundary::Load load{r, {}};
    for (const Loads& here : loads) load.cycles.push_back(here[r]);
    boundary.loads.push_back(std::move(load));
  }
  return boundary;
}

const std::vector<Triple<int>>& Boundaries::points() {
  if (!points_.empty()) return points_;
  Triple<int> size;
  for (int d = 0; d < kDims; ++d) size[d] = static_cast<int>(axis_[d]->value.size());
  points_.reserve(static_cast<std::size_t>(size[0]) * size[1] * size[2]);
  for (int x = 0; x < size[0]; ++x)
    for (int y = 0; y < size[1]; ++y)
      for (int z = 0; z < size[2]; ++z) points_.push_back({x, y, z});
  return points_;
}

const Boundaries::Fits& Boundaries::fits(int a, std::uint32_t kept) {
  Fits& fits = fits_[(static_cast<std::size_t>(a) << kSpaces) + kept];
  if (!fits.at.empty()) return fits;
  Triple<std::vector<Count>> side;
  Triple<Count> counts{};  // per dimension: 1 where the dataspace that is blind to it is kept
  for (int d = 0; d < kDims; ++d) {
    for (const Count factor : axis_[d]->value) side[d].push_back(factor * prices_->spread(a, d));
    counts[d] = kept >> problem_->dataspace[d] & 1;
  }
  const std::optional<Count>& capacity = problem_->levels[a].capacity;
  fits.at.reserve(side[0].size() * side[1].size() * side[2].size());
  for (const Count x : side[0])
    for (const Count y : side[1])
      for (const Count z : side[2]) {
        const bool fit = !capacity || counts[2] * x * y + counts[1] * x * z + counts[0] * y * z <= *capacity;
        if (fit) fits.list.push_back(static_cast<int>(fits.at.size()));
        fits.at.push_back(fit);
        fits.barrier.push_back(fit ? 0 : kNever);
      }
  return fits;
}

const std::vector<int>& Boundaries::starts(std::uint32_t kept) {
  if (starts_[kept]) return *starts_[kept];
  Triple<std::vector<char>> allowed;
  for (int d = 0; d < kDims; ++d) {
    const std::vector<Count>& factors = problem_->levels[0].allowed[d];
    for (const Count value : axis_[d]->value)
      allowed[d].push_back(std::binary_search(factors.begin(), factors.end(), value));
  }
  std::vector<int>& starts = starts_[kept].emplace();
  for (const int p : fits(0, kept).list) {
    const Triple<int>& at = points()[p];
    if (allowed[0][at[0]] && allowed[1][at[1]] && allowed[2][at[2]]) starts.push_back(p);
  }
  return starts;
}

void Boundaries::forget_points() {
  for (Fits& fits : fits_) fits = {};
  for (auto& starts : starts_) starts.reset();
  points_ = {};
}

void Boundaries::add(int s, int a, int b, int reuse, Loads& loads) {
  for (const Boundary::Load& load : at(s, a, b).loads) loads[load.resource] += load.cycles[reuse];
}

}  // namespace orrery::nest::lattice
