// Tiles as one index, and the ways in which the loops of a level take one to a larger one. All that depends on what the
// fan-outs leave to the temporal loops alone, so that configurations that leave the same share it.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "orrery/engines/nest/search/tiles/tile_problem.h"
#include "orrery/engines/nest/search/tiles/tile_steps.h"

namespace orrery::nest::tiles {

// What temporal loops up to some level span: a divisor of what is left of each dimension, as one index.
class Lattice {
 public:
  // `left`: what temporal loops share of each dimension.
  Lattice(const Problem& problem, const Factors& left);

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

  // Sublattices: the dimensions that something of a dataspace depends on.
  struct Part {
    std::vector<int> stride;  // by dimension, 0: does not matter
    std::vector<int> place;   // by tile
    int size = 1;
    // What the temporal loops span at a place, 1 where it does not matter.
    Factors extents(const Lattice& lattice, int place) const;
  };
  const Part& shape(int s) const { return shape_[s]; }      // the words of a tile
  const Part& charged(int s) const { return charged_[s]; }  // what a boundary costs, left / tile aside

 private:
  Part part(std::uint32_t dimensions) const;

  std::vector<std::vector<Count>> divisors_;
  std::vector<int> stride_;
  std::vector<std::uint16_t> coordinate_;  // [tile][dimension]
  std::vector<Part> shape_, charged_;      // [dataspace]
  int size_ = 1;
};

// How many tiles there would be.
double tiles_of(const Prices& prices);

// A step with factors for the loops that it names; what the others do is free. A sum over these loops.
struct Move {
  int tile = 0;                                      // by how much the index rises
  std::array<std::int32_t, kMaxDataspaces> entry{};  // into the dataspace's table of charges
};

struct Way {  // a step at a level, in one of its variants
  const Step* step = nullptr;
  std::uint32_t continuing = 0;                       // dataspaces whose slide may go on further out
  std::uint32_t rest = 0;                             // dimensions that may iterate outside the named loops
  std::vector<int> named;                             // dimensions
  std::vector<int> still;                             // dimensions that must not iterate and might have to
  std::vector<std::vector<std::vector<Move>>> moves;  // [of named][coordinate]: what each factor adds

  template <typename Use>
  void each_move(const Lattice& lattice, int tile, const Use& use) const {
    each_move(lattice, tile, 0, Move{}, use);
  }

 private:
  template <typename Use>
  void each_move(const Lattice& lattice, int tile, std::size_t n, const Move& so_far, const Use& use) const {
    if (n == named.size()) return use(so_far);
    for (const Move& one : moves[n][lattice.coordinate(tile, named[n])]) {
      Move next = so_far;
      next.tile += one.tile;
      for (std::size_t s = 0; s < next.entry.size(); ++s) next.entry[s] += one.entry[s];
      each_move(lattice, tile, n + 1, next, use);
    }
  }
};

class Paths {
 public:
  // Keeps references to the arguments but for `left`.
  Paths(const Problem& problem, const std::vector<std::vector<Step>>& steps, const Factors& left,
        const Lattice& lattice);
  Paths(const Paths&) = delete;
  Paths& operator=(const Paths&) = delete;

  const Lattice& lattice() const { return lattice_; }
  const std::vector<Way>& ways(int level) const { return ways_[level]; }
  // Coordinates of dimension d to which T_level may take one.
  const std::vector<int>& reachable(int level, int d, int coordinate) const { return reach_[level][d][coordinate]; }
  bool may_iterate_freely(int level, int d) const { return free_to_iterate_[level][d] != 0; }
  // Whether the loops up to T_level can span the tile.
  bool reached(int level, int tile) const { return reached_[level][tile] != 0; }
  // For each prime of a dimension, pairs (divisor, divisor times the prime), the largest divisors first.
  const std::vector<std::pair<int, int>>& prime_steps(int d) const { return prime_steps_[d]; }
  // Whether the dimensions that are neither named nor free may stand still.
  bool may_stay(int level, const Way& way, int tile) const;

 private:
  void list_reach();
  void list_prime_steps();
  void list_ways(const std::vector<std::vector<Step>>& steps, const Factors& left);
  void list_moves(int level, Way& way) const;

  const Problem& problem_;
  const Lattice& lattice_;
  std::vector<std::vector<std::vector<std::vector<int>>>> reach_;  // [level][dimension][coordinate] -> coordinates
  std::vector<std::vector<char>> reached_;                         // [level][tile]
  std::vector<std::vector<std::pair<int, int>>> prime_steps_;      // [dimension]
  std::vector<std::vector<char>> free_to_iterate_;                 // [level][dimension]: any factor
  std::vector<std::vector<Way>> ways_;
};

}  // namespace orrery::nest::tiles
