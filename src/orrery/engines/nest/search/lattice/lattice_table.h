// The least energy of everything outside a level, for every tile below it: one table per layout and choice
// of keepers.
//
// A tile is a point t of the lattice of divisors of `left` (SpatialLayout): t(d) is the product of the temporal
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

#include "orrery/base/limits/budget.h"
#include "orrery/engines/nest/search/lattice/lattice_boundary.h"

namespace orrery::nest::lattice {

class Table {
 public:
  // Without any level. Prices are those of `criterion`. Borrows its arguments.
  Table(Boundaries& boundaries, const Criterion& criterion, const base::Budget& budget);

  // Adds or changes level i; the levels outside it stand, those inside it are void. Of `keeps` the bits from i
  // outwards count. Boundaries of dataspace s from level i that take more than most[s] cycles of a resource
  // are forbidden. Incomplete and not to be used where the budget is spent.
  void set_level(int i, const Keeps& keeps, const Triple<Loads>& most);

  int points() const { return points_; }
  int full() const { return points_ - 1; }  // t = left
  const Triple<int>& at(int point) const { return (*at_)[point]; }
  int point(const Triple<int>& at) const { return at[0] * stride_[0] + at[1] * stride_[1] + at[2]; }
  Triple<base::Count> values(int point) const;
  const Axis& axis(int d) const { return boundaries_->axis(d); }
  int stride(int d) const { return stride_[d]; }

  // Whether the tile t fits level a, and whether it may stand below it unchanged.
  bool fits(int a, int point) const { return fits_[a]->at[point]; }
  // Tiles that may stand at level a: those that fit, at the innermost level those that its constraints allow, too.
  const std::vector<int>& tiles(int a) const { return a == 0 ? *starts_ : fits_[a]->list; }

  // V and the least V_j over multiples of t in the dimensions other than c (that may iterate at j).
  double least_pj(int i, int point) const { return value_[i][point]; }
  double least_above_pj(int j, int c, int point) const { return above_[j][c][point]; }
  // G_s(i, j, x) with x the divisor of that index; infinite where one of the boundaries is forbidden.
  double close_pj(int s, int i, int j, int reuse) const {
    return close_[s][(static_cast<std::size_t>(i) * (levels_ + 1) + j) * size_[problem_->blind[s]] + reuse];
  }

  // The next step of a cheapest path from (i, t): level j, innermost loop c with t(c) -> index, and the tile
  // after j. j = levels: done.
  struct Step {
    int level = 0, innermost = -1, point = 0;
  };
  Step cheapest(int i, int point) const;

 private:
  void fill_close(int i, const Keeps& keeps, const Triple<Loads>& most);
  void fill_few(int i);
  void fill_all(int i);
  void fill_above(int i);
  void add_steps(int i, int j, int c, std::vector<double>& value);
  void take_least_of_multiples(int d, const double* from, double* into) const;
  // Of closing everything from i outwards with nothing iterating further out.
  double ended_pj(int i) const;
  // use(step, energy of the boundaries it closes and of everything outside it) for every next iterating level
  // and innermost loop; step.point is the tile inside that level's other loops. Returns whether the tile of
  // (i, t) may also stand below all levels, with nothing iterating further out.
  template <typename Use>
  bool for_each_step(int i, int point, const Use& use) const;

  Boundaries* boundaries_;
  const base::Budget* budget_;
  const std::vector<Triple<int>>* at_;
  const LatticeProblem* problem_;
  Criterion criterion_;
  int levels_;
  Triple<int> size_, stride_;
  int points_;
  std::vector<const Boundaries::Fits*> fits_;
  const std::vector<int>* starts_ = nullptr;
  Triple<std::vector<double>> close_;  // [s][i][j][reuse]
  std::vector<std::vector<double>> value_;
  std::vector<Triple<std::vector<double>>> above_;
  std::vector<double> closed_, run_, stand_;  // room for fill_value
};

}  // namespace orrery::nest::lattice
