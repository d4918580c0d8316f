// The least that the levels inside a tile cost, over all choices of what to keep at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/nest/search/lattice/lattice_boundary.h"
#include "orrery/engines/nest/search/lattice/lattice_capacity.h"
#include "orrery/engines/nest/search/lattice/lattice_mapping.h"
#include "orrery/engines/nest/search/lattice/lattice_room.h"
#include "orrery/engines/nest/search/lattice/lattice_rows.h"

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
  // Those that may be in a choice of what to keep whose energy, as the capacity bound has it, is not above `most_pj`.
  static Choices choices_below(CapacityBound& capacity, int levels, double most_pj);

  // Boundaries of dataspace s that take more than most[s] cycles of a resource are forbidden.
  // Nothing above `ceiling` is of interest.
  Inside(Boundaries& boundaries, const Criterion& criterion, double ceiling, const Triple<Loads>& most,
         const Choices& choices, const base::Budget& budget, Blocks& blocks);

  // Steps that filling it takes at most, and bytes that it holds then.
  static double most_steps(const Boundaries& boundaries);
  static double most_bytes(const Boundaries& boundaries);

  // Levels 0 .. a and what the compute units read, by the tile (as a point) that the loops up to and including those of
  // a + 1 span. Exact where a + 1 iterates; where it does not, every run that goes on from further out is taken at its
  // longest. Empty where the budget was spent.
  // Of such a figure `worth` makes a lower bound.
  const std::vector<float>& within(int a, const Outer& outer);
  double worth(float figure) const { return static_cast<double>(figure) * unit_; }
  // All levels, exactly. Not to be used where the budget was spent.
  double least();
  // One that costs so much.
  struct Found {
    Keeps keeps{};
    Path path;
    Loads loads{};
  };
  Found cheapest();
  bool cut_short() const { return cut_short_; }

 private:
  using Figures = float*;  // in room_
  struct State {
    bool any = false;          // whether anything may be kept
    Triple<Figures> folded{};  // min(F, Z): [dimension][pair][the other two]
    Figures fresh{};           // F by point; null where no level outside iterates
    std::vector<float> within;
  };
  // Where the tiles of what level a keeps may be, in the order of each dimension.
  struct Tiles {
    bool any = false, all = false;
    Triple<std::vector<float>> barrier;  // infinite where a tile may not be, else 0
    Triple<std::vector<int>> extent;     // rows: from so many others on none may be
  };
  // What a dataspace costs to bring to a level.
  struct Price {
    std::vector<float> by_reuse;
    Triple<std::vector<float>> own;  // by the other two of each dimension that it is not blind to
  };
  // Some of what level a may keep: the least over them, `kept` and everything inside it known, lacks the price of s.
  struct Leg {
    int s = -1;                               // -1: no price is lacking
    const Triple<Figures>* inside = nullptr;  // null: `rest` alone
    const Tiles* tiles = nullptr;             // null: all
    bool barred = false;                      // whether `inside` knows them
    float rest = 0;
  };
  // The least over the dataspaces from `next` on, of those before it `kept` ones alone, without the prices of these.
  struct Partial {
    bool any = false;
    Triple<Figures> least{};
  };

  State& state(int a, const Outer& outer);
  const Partial& partial(int a, std::uint32_t kept, const Outer& outer);
  void settle(int a, const Outer& outer, State& into);
  void legs_of(int a, int next, std::uint32_t kept, const Outer& outer, std::uint32_t wanted, std::vector<Leg>& legs);
  void add_leg(int a, int s, std::uint32_t kept, const Outer& outer, std::vector<Leg>& legs);
  void fill(int a, const Outer& outer, const std::vector<Leg>& legs, const Tiles* tiles, Triple<Figures>& into);
  void close(int a, State& state);
  double innermost(const Outer& inner) const;
  const Tiles& tiles(int a, std::uint32_t kept);
  const Price& price(int s, int a, int outer);
  void take_least(int i, const float* from, int j, float* to) const;
  std::size_t others(int d) const { return static_cast<std::size_t>(points_ / size_[d]); }
  bool out_of_time();

  // One level's part of a mapping, and what it costs with everything inside.
  struct Kept {
    double cost = std::numeric_limits<double>::infinity();
    std::uint32_t subset = 0;
    bool iterates = false;  // whether the level does
  };
  // Where the mapping stands at a level: the tile, and the run that is under way, in dimension c up to a divisor.
  struct Place {
    int c = 0;
    Pair pair;
    std::size_t row = 0;  // of the pair
    Triple<int> x{};
  };
  const State* find(int a, const Outer& outer) const;
  Kept choose(int a, const Outer& outer, const Place& at);
  Place first_step(int a, const Outer& outer, const Triple<int>& t);
  int point_of(const Triple<int>& x) const { return x[0] * stride_[0] + x[1] * stride_[1] + x[2]; }

  Boundaries& boundaries_;
  const LatticeProblem& problem_;
  const Criterion criterion_;
  const double ceiling_;  // of all figures: they are kept as parts of it
  const double unit_;
  const Triple<Loads> most_;
  const Choices& choices_;
  const base::Budget& budget_;
  int levels_, points_ = 1;
  Triple<int> size_, stride_;
  Triple<std::vector<Pair>> pairs_;
  Triple<std::vector<std::size_t>> last_pair_;  // by x(c): with the whole axis
  std::vector<Tiles> tiles_;                    // [level][kept]
  std::vector<char> listed_;
  std::vector<Price> prices_;  // [level][dataspace][outer]
  std::vector<std::unique_ptr<State>> states_;
  Choices
      wanted_;  // [kept so far][state]: what any of the states may keep that are the same but for where that is kept
  std::vector<std::unique_ptr<Partial>> partials_;
  Room room_;
  std::vector<float> runs_, turned_;
  bool cut_short_ = false;
};

}  // namespace orrery::nest::lattice
