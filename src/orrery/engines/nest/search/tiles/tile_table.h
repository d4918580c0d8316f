// Least costs over all tiles, level by level from the outside, under one configuration. See tile_search.cc.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/nest/search/tiles/tile_bound.h"
#include "orrery/engines/nest/search/tiles/tile_lattice.h"
#include "orrery/engines/nest/search/tiles/tile_problem.h"

namespace orrery::nest::tiles {

// By dataspace: the innermost storage whose boundary is still open, since no loop outside it has moved the dataspace;
// -1 where none is.
using Open = std::array<std::int8_t, kMaxDataspaces>;

class Table {
 public:
  // Mappings of `ceiling` or more are of no use: what cannot lead to others is left out, and the table ends as soon as
  // nothing can. Keeps references to all arguments but `pricing` and `ceiling`.
  Table(const Prices& prices, const Paths& paths, const Boundaries& boundaries, const Pricing& pricing, double ceiling,
        const base::Budget& budget);

  bool complete() const { return complete_; }  // false: the budget ended it
  // Whether the ceiling left anything out.
  bool left_out() const { return left_out_; }
  // Of all mappings that matter, fixed costs included; the ceiling where none does.
  double least() const { return std::min(least_, ceiling_); }

  const std::vector<Open>& states(int level) const { return states_[level]; }
  int begin() const { return 0; }  // the state after level 0
  int next(int level, int state, const Way& way) const { return next_[level][state][index(level, way)]; }
  // False where another way costs no more from this state on.
  bool usable(int level, int state, const Way& way) const { return free_[level][state][index(level, way)] != nullptr; }
  // What the move costs at once.
  double charge(int level, int state, const Way& way, const Move& move, int tile) const;
  // Least cost of everything after level's loops; infinite where tiles do not fit or costs reach the ceiling.
  double after(int level, int state, int tile) const { return after_[level][state][tile]; }
  // The same, least over the other loops of this way that may still follow.
  double after_rest(int level, int state, const Way& way, int tile) const {
    return free_[level][state][index(level, way)][tile];
  }
  const std::vector<int>& first_tiles() const { return first_; }

 private:
  struct Charges {
    std::vector<double> cost;
    std::vector<char> known;  // by place
    int width = 1;            // entries for each place of the sublattice
    std::map<std::array<Count, 5>, double> spared;
  };
  std::size_t index(int level, const Way& way) const {
    return static_cast<std::size_t>(&way - paths_.ways(level).data());
  }
  double least_from(int level) const;
  void list_states();
  std::vector<char> list_usable(int level, const Open& open) const;
  void close_outermost();
  void fill_level(int level);
  std::vector<int> sources(int level, int state);
  void follow(const Way& way, const std::vector<const Charges*>& paid, const std::vector<int>& sources,
              const double* to, std::vector<double>& out);
  const Charges* charges(int level, int s, int open, const Way& way, const std::vector<int>& sources);
  void fill_place(Charges& table, int level, int s, int open, const Step& step, bool continues, int place);
  const std::vector<double>& rest_of(int level, int state, std::uint32_t rest);
  Open step_to(const Open& open, int level, std::uint32_t stays) const;

  const Prices& prices_;
  const Paths& paths_;
  const Lattice& lattice_;
  const Boundaries& boundaries_;
  const Pricing pricing_;
  const double ceiling_;
  base::Ticker clock_;
  bool complete_ = true, left_out_ = false;
  int levels_, dims_, spaces_;
  double least_ = std::numeric_limits<double>::infinity();
  std::vector<std::vector<char>> fits_;  // [level][tile]
  std::vector<std::vector<Open>> states_;
  std::vector<std::vector<std::vector<double>>> after_;  // [level][state][tile]
  std::vector<std::map<std::pair<int, std::uint32_t>, std::vector<double>>> rest_;
  std::map<std::array<int, 6>, Charges> charges_;
  std::vector<int> first_;
  std::vector<std::vector<std::vector<std::vector<const Charges*>>>> paid_;  // [level][state][way][dataspace]
  std::vector<std::vector<std::vector<const double*>>> free_;                // [level][state][way]: of rest_
  std::vector<std::vector<std::vector<int>>> next_;                          // [level][state][way]
};

}  // namespace orrery::nest::tiles
