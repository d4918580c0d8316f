// What a configuration costs at least, found much faster than its table.
#pragma once

#include <optional>
#include <vector>

#include "orrery/engines/nest/search/tiles/tile_lattice.h"

namespace orrery::nest::tiles {

// Words of s that enter each instance of storage a at least: each position along an axis to which one dimension alone
// moves, once.
double least_words(const Prices& prices, int s, int a);

// Which tiles fit storage k.
std::vector<char> list_fits(const Prices& prices, const Lattice& lattice, int k);

// How costs are reckoned: energies plus `price` pJ for each cycle of each port's load, or the latter alone.
struct Pricing {
  Loads price{};
  bool loads_only = false;

  double operator()(const Prices& prices, double energy_pj, const Loads& loads) const {
    double cost = loads_only ? 0 : energy_pj;
    for (int p = 0; p < prices.ports(); ++p) cost += price[p] * loads[p];
    return cost;
  }
  double crossing(const Prices& prices, int s, int a, double words) const {
    if (price == Loads{}) return prices.crossing(s, a, words, nullptr);
    Loads loads{};
    const double energy_pj = prices.crossing(s, a, words, &loads);
    return (*this)(prices, energy_pj, loads);
  }
};

// Least costs of each boundary, by the tile inside it and the dimension that iterates next outside.
class Boundaries {
 public:
  // Keeps references to prices and lattice.
  Boundaries(const Prices& prices, const Lattice& lattice, const Pricing& pricing);

  // Least of everything, fixed costs included; infinite where something fits nowhere.
  double total() const { return total_; }
  // Least of fixed costs and of the boundaries inside level k that are not open: open[s] is the innermost storage whose
  // boundary is, or -1.
  double closed(int k, const std::array<std::int8_t, kMaxDataspaces>& open) const;
  // Of the boundaries of s below storages a = from .. to - 1: [place of the lattice's charged(s) * (dimensions + 1) +
  // 1 + dimension], 0 + dimension where none iterates.
  std::vector<double> outside(int s, int from, int to) const;

 private:
  struct Boundary {
    double once = 0;           // each word once
    std::vector<double> cost;  // as outside()
  };
  double cheapest_tile(int a, const std::vector<int>& kept) const;

  const Prices& prices_;
  const Lattice& lattice_;
  std::vector<std::vector<std::optional<Boundary>>> boundary_;  // [level][dataspace]; none where nothing crosses
  std::vector<double> least_;                                   // [level], of all that it keeps
  double fixed_ = 0, total_ = 0;
};

}  // namespace orrery::nest::tiles
