// Least costs over all tiles, level by level from the outside, under one configuration. See tile_search.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "orrery/cost/budget.h"
#include "orrery/nest/tile_problem.h"
#include "orrery/nest/tile_steps.h"

namespace orrery::nest::tiles {

// What temporal loops up to some level span: a divisor of what is left of each dimension, as one index.
class Lattice {
 public:
  explicit Lattice(const Prices& prices);

  int size() const { return size_; }
  int top() const { return size_ - 1; }  // everything
  int dimensions() const { return static_cast<int>(divisors_.size()); }
  int stride(int d) const { return stride_[d]; }
  int divisors(int d) const { return static_cast<int>(divisors_[d].size()); }
  Count divisor(int d, int index) const { return divisors_[d][index]; }
  int coordinate(int tile, int d) const {
    return coordinate_[static_cast<std::size_t>(tile) * divisors_.size() + static_cast<std::size_t>(d)];
  }
  Count extent(int tile, int d) const { return divisors_[d][coordinate(tile, d)]; }

 private:
  std::vector<std::vector<Count>> divisors_;
  std::vector<int> stride_;
  std::vector<std::uint16_t> coordinate_;  // [tile][dimension]
  int size_ = 1;
};

// How many tiles there would be; 0: more than an index holds.
double tiles_of(const Prices& prices);

// By dataspace: the innermost storage whose boundary is still open, since no loop outside it has moved the dataspace;
// -1 where none is.
using Open = std::array<std::int8_t, kMaxDataspaces>;

// A step with factors for the loops that it names; what the others do is free.
struct Move {
  int tile = 0;                                      // by how much the index rises
  std::vector<int> coordinate;                       // of each named dimension, afterwards
  std::array<std::int32_t, kMaxDataspaces> entry{};  // into the dataspace's table of charges
};

// Words that cross a boundary that ends at a step: see tile_table.cc.
double words_crossing(const Prices& prices, int s, int a, int level, const Factors& inside, const Step& step,
                      const Factors& loops, bool continues);

class Table {
 public:
  // Costs are energies plus `price` pJ for each cycle of each port's load; with `loads_only` the latter alone.
  // `hopeless` says whether a configuration that costs at least so much may be given up; the table then ends with what
  // is known.
  using Hopeless = std::function<bool(double)>;
  Table(const Prices& prices, const Lattice& lattice, const std::vector<std::vector<Step>>& steps, const Loads& price,
        bool loads_only, const cost::Budget& budget, const Hopeless& hopeless = {});

  bool complete() const { return complete_; }  // false: the budget ended it
  bool given_up() const { return given_up_; }  // then only least() is known, a bound

  struct Way {  // a step at a level, in one of its variants
    const Step* step = nullptr;
    std::uint32_t continuing = 0;          // dataspaces whose slide may go on further out
    std::uint32_t rest = 0;                // dimensions that may iterate outside the named loops
    std::vector<int> named;                // dimensions
    std::vector<std::vector<Move>> moves;  // by place: coordinates of the named dimensions
  };
  const std::vector<Way>& ways(int level) const { return ways_[level]; }
  int place(const Way& way, int tile) const;
  const std::vector<Open>& states(int level) const { return states_[level]; }
  int begin() const { return 0; }  // the state after level 0
  int next(int level, int state, const Way& way) const;
  // False where another way costs no more from this state on.
  bool usable(int level, int state, const Way& way) const {
    return free_[level][state][&way - ways_[level].data()] != nullptr;
  }
  // What the move costs at once.
  double charge(int level, int state, const Way& way, const Move& move, int tile) const;
  // Least cost of everything after level's loops (infinite where tiles do not fit).
  double after(int level, int state, int tile) const { return after_[level][state][tile]; }
  // The same, least over the other loops of this way that may still follow.
  double after_rest(int level, int state, const Way& way, int tile) const;
  // Whether T_level may take `tile` to the one with these coordinates of dimension d.
  const std::vector<int>& reachable(int level, int d, int coordinate) const { return reach_[level][d][coordinate]; }
  bool fits(int level, int tile) const { return fits_[level][tile] != 0; }
  double closing(int state) const { return closing_[state]; }

  double least() const { return least_; }  // of all, fixed costs included
  const std::vector<int>& first_tiles() const { return first_; }

 private:
  struct Charges {
    std::vector<double> cost;
    int width = 1;  // entries for each place of the sublattice
  };
  double priced(double energy_pj, const Loads& loads) const;
  double least_from(int level) const;
  const Charges* charges(int level, int s, int open, const Step& step, bool continues);
  void list_reach(const Space& space);
  void list_prime_steps();
  void list_fits(const Space& space);
  void list_states();
  std::vector<char> list_usable(int level, const Open& open) const;
  void list_ways(const std::vector<std::vector<Step>>& steps);
  void fill_level(int level);
  const std::vector<double>& rest_of(int level, int state, std::uint32_t rest);
  Open step_to(const Open& open, int level, std::uint32_t stays) const;
  bool may_continue(int s, const Step& step, int level) const;
  bool may_meet(int s, const Step& step, int level, const Factors& inside, const Factors& loops) const;

  const Prices& prices_;
  const Lattice& lattice_;
  const Loads price_;
  const double of_energy_;  // 0 or 1
  cost::Ticker clock_;
  bool complete_ = true, given_up_ = false;
  int levels_, dims_, spaces_;
  double least_;
  std::vector<std::vector<std::vector<std::vector<int>>>> reach_;  // [level][dimension][coordinate] -> coordinates
  std::vector<std::vector<std::pair<int, int>>> prime_steps_;      // [dimension]
  std::vector<std::vector<char>> free_to_iterate_;                 // [level][dimension]: any factor
  std::vector<std::vector<char>> fits_, reached_;                  // [level][tile]
  std::vector<std::vector<Open>> states_;
  std::vector<std::vector<Way>> ways_;
  std::vector<std::vector<std::vector<double>>> after_;  // [level][state][tile]
  std::vector<std::map<std::pair<int, std::uint32_t>, std::vector<double>>> rest_;
  std::map<std::array<int, 6>, Charges> charges_;
  std::vector<double> closing_;
  std::vector<int> first_;
  // Sublattice of what a dataspace's charges depend on.
  std::vector<std::vector<int>> sub_stride_;  // [dataspace][dimension], 0: does not matter
  std::vector<std::vector<int>> sub_;         // [dataspace][tile]
  std::vector<int> sub_size_;
  std::vector<std::vector<std::vector<std::vector<const Charges*>>>> paid_;  // [level][state][way][dataspace]
  std::vector<std::vector<std::vector<const double*>>> free_;                // [level][state][way]: of rest_
  std::vector<std::vector<std::vector<int>>> next_;                          // [level][state][way]
};

}  // namespace orrery::nest::tiles
