// The least energy of everything outside a level, for every tile below it: one table per layout and choice
// of keepers.
//
// A tile is a point t of the lattice of divisors of `left` (Layout): t(d) is the product of the temporal
// factors of d up to and including the level. With level i the last that iterates so far,
//     V_i(t) = min over the next iterating level j > i, its innermost loop c with f >= 2 iterations, and the
//              tile t'' = t with t(c) f, its other dimensions multiplied freely, of
//              sum_{s blind to d != c} G_s(i, j, t(d)) + G_{s blind to c}(i, j, t(c) f) + V_j(t'')
// where G_s(i, j, x) prices the boundaries of levels i .. j-1 that close at j. V_i(left) closes all.
// V_i(t) is infinite where a tile overfills a level. That every run may be taken to end at the next
// iterating level is the shift lemma: a run that goes on through a level that iterates only c costs the
// same with that level's factor moved outwards into the run's, and needs no more room.
// Source: docs/model/nest.md, "The lattice". Cost: levels^2 * points * divisors per dimension.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/nest/lattice_problem.h"

namespace orrery::nest::lattice {

// The divisors of one bound and how they multiply.
struct Axis {
  std::vector<base::Count> value;                 // rising
  std::vector<std::vector<int>> multiples;        // indices of proper multiples within the axis, rising
  std::vector<std::vector<int>> prime_multiples;  // those that are a prime times the divisor
  explicit Axis(base::Count bound = 1);
};

// Which levels keep each dataspace: bit a of keepers[s].
using Keepers = Triple<std::uint32_t>;

class Table {
 public:
  Table(const Problem& problem, const Prices& prices, const Keepers& keepers);

  int points() const { return points_; }
  int full() const { return points_ - 1; }  // t = left
  Triple<int> at(int point) const { return {point / stride_[0], point / stride_[1] % size_[1], point % size_[2]}; }
  int point(const Triple<int>& at) const { return at[0] * stride_[0] + at[1] * stride_[1] + at[2]; }
  Triple<base::Count> values(int point) const;
  const Axis& axis(int d) const { return axis_[d]; }
  int stride(int d) const { return stride_[d]; }

  // Whether the tile t fits level a, and whether it may stand below it unchanged.
  bool fits(int a, int point) const { return fits_[a][point]; }
  // Tiles at the innermost level that its constraints allow and that fit.
  const std::vector<int>& starts() const { return starts_; }

  // V and the least V_j over multiples of t in the dimensions other than c (that may iterate at j).
  double least_pj(int i, int point) const { return value_[i][point]; }
  double least_above_pj(int j, int c, int point) const { return above_[j][c][point]; }
  // G_s(i, j, x) with x the divisor of that index.
  double close_pj(int s, int i, int j, int reuse) const { return prefix_[s][j][reuse] - prefix_[s][i][reuse]; }
  void close_loads(int s, int i, int j, int reuse, Loads& loads) const;

  // The next step of a cheapest path from (i, t): level j, innermost loop c with t(c) -> index, and the tile
  // after j. j = levels: done.
  struct Step {
    int level = 0, innermost = -1, point = 0;
  };
  Step cheapest(int i, int point) const;

 private:
  void fill();
  // use(step, energy of the boundaries it closes and of everything outside it) for every next iterating level
  // and innermost loop; step.point is the tile inside that level's other loops. Returns whether the tile of
  // (i, t) may also stand below all levels, with nothing iterating further out.
  template <typename Use>
  bool for_each_step(int i, int point, const Use& use) const;

  const Problem* problem_;
  const Prices* prices_;
  Keepers keepers_;
  int levels_;
  Triple<Axis> axis_;
  Triple<int> size_, stride_;
  int points_;
  std::vector<std::vector<char>> fits_;
  std::vector<int> starts_;
  Triple<std::vector<std::vector<double>>> prefix_;  // [s][level][reuse]
  std::vector<std::vector<double>> value_;
  std::vector<Triple<std::vector<double>>> above_;
};

}  // namespace orrery::nest::lattice
