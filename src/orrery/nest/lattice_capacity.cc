// Listing the largest tiles: for each x from the largest down and each y likewise, the largest z that fits
// only grows, so one pass finds them all. Cost: divisors of two dimensions, plus those of the third.
#include "orrery/nest/lattice_capacity.h"

#include <algorithm>
#include <optional>

#include "orrery/base/factor.h"
#include "orrery/nest/objective.h"

namespace orrery::nest::lattice {

using base::Count;

CapacityBound::CapacityBound(const Problem& problem, const Prices& prices) : problem_(problem), prices_(prices) {
  for (int d = 0; d < kDims; ++d) divisors_[d] = base::divisors(prices.layout().left[d]);
  const std::size_t levels = problem.levels.size();
  tiles_.resize(levels * (1u << kSpaces));
  listed_.assign(tiles_.size(), 0);
  price_.resize(kSpaces * levels * levels);
  for (int s = 0; s < kSpaces; ++s)
    for (std::size_t b = 0; b < levels; ++b) innermost_pj_[s].push_back(prices.innermost_pj(s, static_cast<int>(b)));
}

double CapacityBound::energy_pj(const Keepers& keepers) {
  double total_pj = 0;
  for (int a = 0; a < static_cast<int>(problem_.levels.size()); ++a) {
    std::uint32_t kept = 0, crossing = 0;
    Triple<const std::vector<double>*> price{};
    for (int s = 0; s < kSpaces; ++s) {
      if (!(keepers[s] >> a & 1)) continue;
      kept |= 1u << s;
      if (const std::uint32_t outer = keepers[s] >> (a + 1); outer != 0) {
        crossing |= 1u << s;
        price[s] = &prices(s, a, a + 1 + __builtin_ctz(outer));
      }
    }
    if (kept == 0) continue;
    const std::vector<Triple<int>>& tiles = fitting(a, kept);
    double least_pj = tiles.empty() ? kNever : crossing == 0 ? 0 : kNever;
    for (const Triple<int>& tile : tiles) {
      if (crossing == 0) break;
      double here_pj = 0, saved_pj = 0;
      for (int s = 0; s < kSpaces; ++s) {
        if (!price[s]) continue;
        const double tiled = (*price[s])[tile[problem_.blind[s]]];
        here_pj += tiled;
        saved_pj = std::max(saved_pj, tiled - price[s]->back());
      }
      least_pj = std::min(least_pj, here_pj - saved_pj);
    }
    total_pj += least_pj;
    if (total_pj == kNever) break;
  }
  return total_pj;
}

const std::vector<double>& CapacityBound::prices(int s, int a, int b) {
  std::vector<double>& price =
      price_[(static_cast<std::size_t>(s) * problem_.levels.size() + a) * problem_.levels.size() + b];
  if (price.empty())
    for (const Count reuse : divisors_[problem_.blind[s]]) price.push_back(prices_.boundary_pj(s, a, b, reuse));
  return price;
}

const std::vector<Triple<int>>& CapacityBound::fitting(int a, std::uint32_t kept) {
  const std::size_t slot = static_cast<std::size_t>(a) * (1u << kSpaces) + kept;
  std::vector<Triple<int>>& tiles = tiles_[slot];
  if (listed_[slot]) return tiles;
  listed_[slot] = 1;
  const Triple<int> last{static_cast<int>(divisors_[0].size()) - 1, static_cast<int>(divisors_[1].size()) - 1,
                         static_cast<int>(divisors_[2].size()) - 1};
  const std::optional<Count>& capacity = problem_.levels[a].capacity;
  if (!capacity) {
    tiles.push_back(last);
    return tiles;
  }
  const auto words = [&](const Triple<int>& at) {
    const Triple<Count> inside{divisors_[0][at[0]], divisors_[1][at[1]], divisors_[2][at[2]]};
    Count sum = 0;
    for (int s = 0; s < kSpaces; ++s)
      if (kept >> s & 1) sum += prices_.tile(s, a, inside);
    return sum;
  };
  // For each x and y the largest z that fits; z falls as x and y grow.
  std::vector<int> above(last[1] + 1, -1);  // the z of the next larger x, by y
  for (int x = last[0]; x >= 0; --x) {
    int next = -1;  // the z of the next larger y
    for (int y = last[1]; y >= 0; --y) {
      int z = std::max(next, above[y]);
      while (z < last[2] && words({x, y, z + 1}) <= *capacity) ++z;
      if (z >= 0 && z > next && z > above[y]) tiles.push_back({x, y, z});
      next = z;
      above[y] = z;
    }
  }
  return tiles;
}

}  // namespace orrery::nest::lattice
