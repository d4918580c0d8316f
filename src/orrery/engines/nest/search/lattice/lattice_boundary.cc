#include "orrery/engines/nest/search/lattice/lattice_boundary.h"

#include <algorithm>

#include "orrery/base/numbers/factor.h"
#include "orrery/engines/nest/search/objective.h"

namespace orrery::nest::lattice {

using base::Count;

namespace {

constexpr double kOfAnEntry = 200;  // bytes of a hash table's

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

// Per dimension: units of a value of the dataspace that is blind to it, where it is kept.
Triple<Count> units_kept(const LatticeProblem& problem, const Level& level, std::uint32_t kept) {
  Triple<Count> units{};
  for (int d = 0; d < kDims; ++d)
    if (kept >> problem.dataspace[d] & 1) units[d] = level.priced.units.value[problem.dataspace[d]];
  return units;
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

// For each x from the largest down and each y likewise, the largest z that fits only grows, so one pass finds them all.
std::shared_ptr<const LargestTiles::List> LargestTiles::of(const Level& level, std::uint32_t kept,
                                                           const Triple<const Axis*>& axes, const Triple<Count>& spread,
                                                           const LatticeProblem& problem) {
  const Count capacity = level.capacity.value_or(std::numeric_limits<Count>::max());
  const Triple<Count> counts = units_kept(problem, level, kept);
  const auto [place, fresh] = lists_.try_emplace(Key{capacity, kept, axes, spread, counts});
  if (!fresh) return place->second;
  auto tiles = std::make_shared<List>();
  Triple<int> last;
  for (int d = 0; d < kDims; ++d) last[d] = static_cast<int>(axes[d]->value.size()) - 1;
  if (!level.capacity) {
    tiles->push_back(last);
  } else {
    Triple<std::vector<Count>> side;
    for (int d = 0; d < kDims; ++d)
      for (const Count value : axes[d]->value) side[d].push_back(value * spread[d]);
    // What words the tile has but for z steps along the third dimension, and for each of them.
    const auto face = [&](int x, int y) { return counts[2] * side[0][x] * side[1][y]; };
    const auto depth = [&](int x, int y) { return counts[1] * side[0][x] + counts[0] * side[1][y]; };
    std::vector<int> above(last[1] + 1, -1);  // the z of the next larger x, by y
    int top = -1;                             // the largest y of which something fits
    for (int x = last[0]; x >= 0; --x) {
      while (top < last[1] && face(x, top + 1) + depth(x, top + 1) * side[2][0] <= capacity) ++top;
      int next = -1;  // the z of the next larger y
      for (int y = top; y >= 0; --y) {
        const Count whole = face(x, y), each = depth(x, y);
        int z = std::max(next, above[y]);
        while (z < last[2] && whole + each * side[2][z + 1] <= capacity) ++z;
        if (z > next && z > above[y]) tiles->push_back({x, y, z});
        next = z;
        above[y] = z;
      }
    }
  }
  const std::shared_ptr<const List> found = place->second = std::move(tiles);
  used_ += kOfAnEntry + static_cast<double>(found->capacity() * sizeof(Triple<int>));
  if (used_ > room_) lists_.clear(), used_ = 0;
  return found;
}

std::size_t LargestTiles::Hash::operator()(const Key& key) const {
  std::uint64_t hash = static_cast<std::uint64_t>(key.capacity) ^ key.kept;
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0xD6E8FEB86659FD93ull;
    hash ^= hash >> 32;
  };
  for (int d = 0; d < kDims; ++d) {
    mix(reinterpret_cast<std::uintptr_t>(key.axes[d]));
    mix(static_cast<std::uint64_t>(key.spread[d]));
  }
  return hash;
}

Boundaries::Boundaries(const LatticeProblem& problem, const Prices& prices, Axes& axes, LargestTiles& largest)
    : problem_(&problem), prices_(&prices), largest_(&largest) {
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
  boundary.pj.resize(reuse.size());
  // What loads nothing when it is reused least never does.
  Loads most{};
  prices_->add_boundary(s, a, b, reuse.front(), most);
  for (int r = 0; r < problem_->resources; ++r)
    if (most[r] > 0) boundary.loads.push_back({r, std::vector<double>(reuse.size())});
  for (std::size_t x = 0; x < reuse.size(); ++x) {
    boundary.pj[x] = prices_->boundary_pj(s, a, b, reuse[x]);
    if (boundary.loads.empty()) continue;
    Loads loads{};
    prices_->add_boundary(s, a, b, reuse[x], loads);
    for (Boundary::Load& load : boundary.loads) load.cycles[x] = loads[load.resource];
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
  const Triple<Count> counts = units_kept(*problem_, problem_->levels[a], kept);
  for (int d = 0; d < kDims; ++d)
    for (const Count factor : axis_[d]->value) side[d].push_back(factor * prices_->spread(a, d));
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

std::shared_ptr<const LargestTiles::List> Boundaries::largest(int a, std::uint32_t kept) {
  Triple<Count> spread;
  for (int d = 0; d < kDims; ++d) spread[d] = prices_->spread(a, d);
  return largest_->of(problem_->levels[a], kept, axis_, spread, *problem_);
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
