// Binomial coefficients of large numbers cancel when their logarithms are subtracted. Loader's saddle point form
// (C. Loader, "Fast and accurate computation of binomial probabilities", 2000) does not: with p = n / N,
//
//   P(k) = b(k; r, p) b(n - k; N - r, p) / b(n; N, p),
//   b(x; n, p) = sqrt(n / (2 pi x (n - x))) exp(s(n) - s(x) - s(n - x) - D(x, n p) - D(n - x, n (1 - p))),
//   s(n) = log n! - (n + 1/2) log n + n - log(2 pi) / 2,   D(x, m) = x log(x / m) + m - x.
//
// Cost: a hypergeometric tile sums some 20 standard deviations of terms, 4096 at most; a pattern walks its nonzeros
// once.
#include "orrery/engines/nest/sparse/density.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <unordered_map>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/numbers/whole_number.h"

namespace orrery::nest {

using base::Count;

namespace {

constexpr double kNegligible = 1e-18;  // of the most likely occupancy
constexpr Count kMostTerms = 4096;     // of a sum over occupancies

// Whole where rounding alone parts it from a whole number.
double settled(double value) {
  const double nearest = std::nearbyint(value);
  return std::abs(value - nearest) <= 1e-12 * std::max(1.0, std::abs(value)) ? nearest : value;
}

double stirling_rest(double n) {
  if (n < 16) {
    double log_factorial = 0;
    for (double i = 2; i <= n; ++i) log_factorial += std::log(i);
    if (n == 0) return 0;  // only asked for where its term is exact (below)
    return log_factorial - (n + 0.5) * std::log(n) + n - 0.5 * std::log(2 * std::numbers::pi);
  }
  const double nn = n * n;
  return (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - 1.0 / 1188 / nn) / nn) / nn) / nn) / n;
}

double deviance(double x, double mean) {
  if (std::abs(x - mean) < 0.1 * (x + mean)) {
    const double v = (x - mean) / (x + mean);
    double sum = (x - mean) * v, term = 2 * x * v;
    for (int j = 1; j < 1000; ++j) {
      term *= v * v;
      const double next = sum + term / (2 * j + 1);
      if (next == sum) break;
      sum = next;
    }
    return sum;
  }
  return x * std::log(x / mean) + mean - x;
}

// log b(x; n, p)
double log_binomial(double x, double n, double p) {
  const double q = 1 - p;
  if (x == 0) return p < 0.1 ? -deviance(n, n * q) - n * p : n * std::log(q);
  if (x == n) return q < 0.1 ? -deviance(n, n * p) - n * q : n * std::log(p);
  return stirling_rest(n) - stirling_rest(x) - stirling_rest(n - x) - deviance(x, n * p) - deviance(n - x, n * q) +
         0.5 * (std::log(n) - std::log(2 * std::numbers::pi) - std::log(x) - std::log(n - x));
}

// Index of the tile that holds a nonzero; tiles are counted rank by rank.
Count tile_of(const Count* coordinate, const std::vector<Count>& bounds, const std::vector<Count>& extents) {
  Count index = 0;
  for (std::size_t r = 0; r < bounds.size(); ++r)
    index = index * ((bounds[r] + extents[r] - 1) / extents[r]) + coordinate[r] / extents[r];
  return index;
}

double tiles_in(const std::vector<Count>& bounds, const std::vector<Count>& extents) {
  double tiles = 1;
  for (std::size_t r = 0; r < bounds.size(); ++r)
    tiles *= static_cast<double>((bounds[r] + extents[r] - 1) / extents[r]);
  return tiles;
}

std::unordered_map<Count, Count> occupied(const Pattern& pattern, const std::vector<Count>& extents) {
  std::unordered_map<Count, Count> tiles;
  const std::size_t ranks = pattern.bounds.size();
  for (std::size_t at = 0; at < pattern.coordinates.size(); at += ranks)
    ++tiles[tile_of(&pattern.coordinates[at], pattern.bounds, extents)];
  return tiles;
}

// Floor and ceil with the probabilities that leave `exact` on average.
std::vector<std::pair<Count, double>> around(double exact) {
  exact = settled(exact);
  const double floor = std::floor(exact), part = exact - floor;
  std::vector<std::pair<Count, double>> all;
  if (part < 1) all.emplace_back(base::saturated(floor), 1 - part);
  if (part > 0) all.emplace_back(base::saturated(floor) + 1, part);
  return all;
}

}  // namespace

double hypergeometric_share(Count k, Count n, Count r, Count all) {
  if (k < 0 || k > r || k > n || n - k > all - r) return 0;
  if (n == 0 || r == 0 || n == all || r == all) return 1;  // only one k is left by the line above
  const double p = static_cast<double>(n) / static_cast<double>(all);
  return std::exp(log_binomial(static_cast<double>(k), static_cast<double>(r), p) +
                  log_binomial(static_cast<double>(n - k), static_cast<double>(all - r), p) -
                  log_binomial(static_cast<double>(n), static_cast<double>(all), p));
}

Density Density::structured(double share) {
  Density density;
  density.share_ = share;
  return density;
}

Density Density::hypergeometric(double share, Count words) {
  Density density;
  density.kind_ = Kind::kHypergeometric;
  density.words_ = words;
  density.nonzeros_ = std::min(words, base::saturated(std::ceil(settled(share * static_cast<double>(words)))));
  density.share_ = static_cast<double>(density.nonzeros_) / static_cast<double>(words);
  return density;
}

Density Density::pattern(Pattern pattern) {
  Density density;
  density.kind_ = Kind::kPattern;
  double words = 1;
  for (const Count bound : pattern.bounds) words *= static_cast<double>(bound);
  density.share_ = static_cast<double>(pattern.nonzeros()) / words;
  density.pattern_ = std::make_shared<const Pattern>(std::move(pattern));
  return density;
}

const char* Density::name() const {
  if (dense() && kind_ == Kind::kStructured) return "dense";
  return kind_ == Kind::kStructured ? "structured" : kind_ == Kind::kHypergeometric ? "hypergeometric" : "pattern";
}

double Density::effort() const {
  if (kind_ == Kind::kStructured) return 1;
  if (kind_ == Kind::kPattern) return 1 + static_cast<double>(pattern_->nonzeros()) / 10;
  return 1 + std::min(static_cast<double>(kMostTerms), 20 * std::sqrt(static_cast<double>(words_))) / 10;
}

std::vector<std::pair<Count, double>> Density::occupancies(const Mold& tile) const {
  if (kind_ == Kind::kStructured) return around(share_ * static_cast<double>(tile.words));
  std::vector<std::pair<Count, double>> all;
  if (kind_ == Kind::kPattern) {
    std::map<Count, double> counted;
    const auto tiles = occupied(*pattern_, tile.extents);
    const double in_all = tiles_in(pattern_->bounds, tile.extents);
    const double empty = in_all - static_cast<double>(tiles.size());
    if (empty > 0) counted[0] = empty;
    for (const auto& [index, nonzeros] : tiles) counted[nonzeros] += 1;
    for (const auto& [occupancy, number] : counted) all.emplace_back(occupancy, number / in_all);
    return all;
  }
  const Count n = std::min(tile.words, words_);
  const Count least = std::max<Count>(0, n - (words_ - nonzeros_)), most = std::min(n, nonzeros_);
  const double mean = static_cast<double>(n) * share_;
  const Count middle = std::clamp(base::saturated(std::floor(mean)), least, most);
  const double peak = hypergeometric_share(middle, n, nonzeros_, words_);
  // The outermost occupancy in a direction that is not negligible; beyond it they only get rarer.
  const auto outermost = [&](Count inside, Count outside) {
    while (inside != outside) {
      const Count half = inside + (outside - inside + (outside > inside ? 1 : -1)) / 2;
      if (hypergeometric_share(half, n, nonzeros_, words_) > peak * kNegligible)
        inside = half;
      else
        outside = half + (outside > inside ? -1 : 1);
    }
    return inside;
  };
  const Count first = outermost(middle, least), last = outermost(middle, most);
  // A bell so wide is as good as smooth: sums over every `stride`th occupancy are those over all.
  const Count stride = (last - first) / kMostTerms + 1;
  double sum = 0;
  for (Count k = first + (middle - first) % stride; k <= last; k += stride) {
    all.emplace_back(k, hypergeometric_share(k, n, nonzeros_, words_));
    sum += all.back().second;
  }
  if (stride > 1)
    for (auto& [k, probability] : all) probability /= sum;
  return all;
}

double Density::empty(const Mold& tile) const {
  if (kind_ == Kind::kHypergeometric) return hypergeometric_share(0, std::min(tile.words, words_), nonzeros_, words_);
  const auto all = occupancies(tile);
  return !all.empty() && all.front().first == 0 ? all.front().second : 0;
}

double Density::expected(const Mold& tile) const {
  if (kind_ != Kind::kPattern) return share_ * static_cast<double>(tile.words);
  return static_cast<double>(pattern_->nonzeros()) / tiles_in(pattern_->bounds, tile.extents);
}

Count Density::most(const Mold& tile) const {
  if (kind_ == Kind::kHypergeometric) return std::min(tile.words, nonzeros_);
  return occupancies(tile).back().first;
}

std::function<double(Count)> Density::empty_within(const Mold& tile, const Mold& outer) const {
  const Count inside = std::min(tile.words, outer.words);
  if (kind_ == Kind::kStructured)
    return [inside, words = outer.words](Count nonzeros) {
      const auto all = around(static_cast<double>(inside) * static_cast<double>(nonzeros) / static_cast<double>(words));
      return all.front().first == 0 ? all.front().second : 0.0;
    };
  if (kind_ == Kind::kHypergeometric)
    return [inside, words = outer.words](Count nonzeros) {
      return hypergeometric_share(0, inside, std::min(nonzeros, words), words);
    };
  // Of each outer tile: its nonzeros, and how many of its inner tiles have some.
  const Pattern& pattern = *pattern_;
  const std::size_t ranks = pattern.bounds.size();
  std::vector<Count> extents(ranks);
  for (std::size_t r = 0; r < ranks; ++r) extents[r] = std::min(tile.extents[r], outer.extents[r]);
  std::unordered_map<Count, Count> inner_tiles, outer_of;
  for (std::size_t at = 0; at < pattern.coordinates.size(); at += ranks) {
    const Count* const place = &pattern.coordinates[at];
    const Count whole = tile_of(place, pattern.bounds, outer.extents);
    // An inner tile is cut from its outer one's origin.
    Count index = whole;
    for (std::size_t r = 0; r < ranks; ++r)
      index = index * ((outer.extents[r] + extents[r] - 1) / extents[r]) + place[r] % outer.extents[r] / extents[r];
    ++inner_tiles[index];
    outer_of.emplace(index, whole);
  }
  std::unordered_map<Count, std::pair<Count, Count>> outers;  // nonzeros, inner tiles that have some
  for (const auto& [index, nonzeros] : inner_tiles) {
    auto& [sum, tiles] = outers[outer_of[index]];
    sum += nonzeros;
    ++tiles;
  }
  std::map<Count, std::pair<double, double>> by_occupancy;  // inner tiles that have some; outer tiles
  for (const auto& [whole, counted] : outers) {
    by_occupancy[counted.first].first += static_cast<double>(counted.second);
    by_occupancy[counted.first].second += 1;
  }
  const double each = tiles_in(outer.extents, extents);
  return [by_occupancy = std::move(by_occupancy), each](Count nonzeros) {
    const auto known = by_occupancy.find(nonzeros);
    return known == by_occupancy.end() ? 1.0 : 1 - known->second.first / (known->second.second * each);
  };
}

Pattern band(Count rows, Count columns, Count width) {
  Pattern pattern{{rows, columns}, {}};
  for (Count i = 0; i < rows; ++i)
    for (Count j = std::max<Count>(0, i - width); j <= std::min(columns - 1, i + width); ++j) {
      pattern.coordinates.push_back(i);
      pattern.coordinates.push_back(j);
    }
  return pattern;
}

}  // namespace orrery::nest
