// The least that the levels inside a tile cost, over all choices of keepers at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "orrery/cost/budget.h"
#include "orrery/nest/lattice_boundary.h"
#include "orrery/nest/lattice_capacity.h"
#include "orrery/nest/lattice_mapping.h"

namespace orrery::nest::lattice {

// Under one layout, by one criterion. Filled as it is asked. Borrows its arguments.
class Inside {
 public:
  using Outer = CapacityBound::Outer;

  // Which subsets a level may keep, by its state (state_of): bit K for the subset K.
  using Choices = std::vector<std::uint8_t>;
  static std::size_t state_of(int levels, int a, const Outer& outer) {
    const std::size_t side = levels + 1;
    return ((static_cast<std::size_t>(a) * side + outer[0]) * side + outer[1]) * side + outer[2];
  }
  // Those that may be in a choice of keepers whose energy, as the capacity bound has it, is not above `most_pj`.
  static Choices choices_below(CapacityBound& capacity, int levels, double most_pj);

  // Boundaries of dataspace s that take more than most[s] cycles of a resource are forbidden.
  // Nothing above `ceiling` is of interest.
  Inside(Boundaries& boundaries, const Criterion& criterion, double ceiling, const Triple<Loads>& most,
         const Choices& choices, const cost::Budget& budget);

  // Steps that filling it takes at most, and bytes that it holds then.
  static double most_steps(const Boundaries& boundaries);
  static double most_bytes(const Boundaries& boundaries);

  // Levels 0 .. a and what the compute units read, by the tile (as a point) that the loops up to and including those of
  // a + 1 span. Exact where a + 1 iterates; where it does not, every run that goes on from further out is taken at its
  // longest. Empty where the budget was spent.
  // Of such a figure `worth` makes a lower bound.
  const std::vector<float>& within(int a, const Outer& outer) { return state(a, outer).within; }
  double worth(float figure) const { return static_cast<double>(figure) * unit_; }
  // All levels, exactly. Not to be used where the budget was spent.
  double least();
  // One that costs so much.
  struct Found {
    Keepers keepers{};
    Path path;
    Loads loads{};
  };
  Found cheapest() const;
  bool cut_short() const { return cut_short_; }

 private:
  // A tile x of level a with a divisor that its blind dimension may reach: x(c) and a multiple of it, by index.
  struct Pair {
    int from = 0, reached = 0;
  };
  struct State {
    Triple<std::vector<float>> fresh;    // F, in the order of each dimension
    Triple<std::vector<float>> pending;  // Z: [dimension][pair][the other two]
    std::vector<float> within;           // by point
  };

  const State& state(int a, const Outer& outer);
  void settle(int a, const Outer& outer, State& into);
  // One subset that level a keeps.
  struct Kept {
    const State* inside = nullptr;       // of level a - 1
    Triple<std::vector<float>> closed;   // what a tile costs whatever the run, in the order of each dimension
    Triple<std::vector<double>> prices;  // by dimension that is reused
  };
  bool prepare(int a, std::uint32_t kept, const Outer& outer, Kept& into);
  void close(int a, State& state);
  std::vector<double> price(int s, int a, int outer) const;
  const State* find(int a, const Outer& outer) const { return states_[state_of(levels_, a, outer)].get(); }
  std::size_t others(int d) const { return place_[d].size() / static_cast<std::size_t>(size_[d]); }
  std::tuple<int, std::size_t, Triple<int>> first_step(const State& inside, int a, const Triple<int>& t) const;

  Boundaries& boundaries_;
  const LatticeProblem& problem_;
  const Criterion criterion_;
  const double ceiling_;  // of all figures: they are kept as parts of it
  const double unit_;
  const Triple<Loads> most_;
  const Choices& choices_;
  const cost::Budget& budget_;
  int levels_;
  Triple<int> size_, stride_;
  Triple<std::vector<Pair>> pairs_;
  Triple<std::vector<int>> last_pair_;                // by x(c): with the whole axis
  Triple<std::vector<int>> place_;                    // by point, in the order of each dimension
  std::vector<Triple<std::vector<double>>> barrier_;  // [level][kept]: infinite where a tile may not be, in each order
  std::vector<std::unique_ptr<State>> states_;
  std::vector<float> room_;
  bool cut_short_ = false;
};

}  // namespace orrery::nest::lattice
