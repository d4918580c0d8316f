// How few words can cross into a storage, whatever the fan-outs are: fronts over all tiles that fit it.
//
// A tile here spans everything inside a storage, loops in time and in space. Let n be the iterations that are left
// outside it, of all dimensions, multiplied; words that enter all instances of the storage together are then at least
//     n / run * box                       run: iterations of what does not move the dataspace, if one of these is next
//     n / (run A) * (box + A slice ...)   if a window slides along an axis of A iterations next
// with a box no smaller than what the tile spans. Of how the tile is spread only the number of words and instances
// matters, so one front serves many fan-outs; what these do to the costs is a factor for each dataspace
// (tile_problem.h, Crossings::Line).
//
// What a slide is spared by loops further out: after the first loop, of step t and n iterations, a loop along the same
// axis spares something where its step is the sum of the steps inside it, or that and t. If it is of the same
// dimension, both are one slide. Otherwise some loop of the other dimension, of step t' at least, is inside or is it;
// as steps of one dimension are at most its iterations times its first step, N >= t' / t iterations are inside, and
// what is spared is 1 / N - 1 / A of a box for each. With n <= N that leaves box + A (1 - 1 / N) slice.
// A fan-out may make t a multiple; twice t with half as many slices saved is no better than a slice of 2 t.
#pragma once

#include <array>
#include <compare>
#include <map>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/nest/search/tiles/tile_lattice.h"

namespace orrery::nest::tiles {

// What the fan-outs inside a storage spread: a tile of that storage holds a multiple of it.
struct Spreading {
  double instances = 1;
  std::array<double, kMaxDataspaces> parts{};  // words of dataspaces that are products of dimensions; 1: not known

  auto operator<=>(const Spreading&) const = default;
};

// Words that matter together: of some dataspaces, that enter one storage. No entry is above another in all.
struct Front {
  std::vector<int> spaces;
  std::vector<double> words;  // [entry * spaces + n]
};

class Fronts {
 public:
  explicit Fronts(const Problem& problem, const base::Budget& budget);

  bool complete() const { return complete_; }
  // Of storage a if it keeps `mask`, over tiles that hold so much. Without entries: no tile fits.
  const Front& front(int a, std::uint32_t mask, const Spreading& spreading);
  double whole(int s) const { return whole_[s]; }

 private:
  struct Tile {
    double iterations = 1;
    std::array<double, kMaxDataspaces> words{};
    std::size_t first = 0, last = 0;  // entries
  };
  struct Tiles {  // that fit, none larger in dimensions of which words are products
    std::vector<int> spaces;
    std::vector<Tile> tiles;
    std::vector<double> words;  // [entry * spaces + n], of each tile one for every dimension that may iterate next
    std::map<Spreading, Front> fronts;
  };
  void list_words();
  double least_words(int s, const Factors& inside, int d) const;
  double slide_words(int s, const Factors& inside, int d, double passes, double box) const;
  void list_tiles(int a, std::uint32_t mask);

  const Problem& problem_;
  const Lattice lattice_;
  base::Ticker clock_;
  bool complete_ = true;
  std::vector<double> whole_;               // each word once
  std::vector<std::vector<double>> words_;  // [dataspace][place of charged(s) * (dimensions + 1) + 1 + dimension]
  std::vector<std::vector<Count>> held_;    // [dataspace][place of shape(s)]
  std::vector<std::vector<Tiles>> tiles_;   // [level][mask]
};

}  // namespace orrery::nest::tiles
