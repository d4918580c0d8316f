// The best placements of an einsum's own tensors at the exchange level, below its fused loops, with all that is inside.
//
// They depend on the tile that the fused loops leave, on which tensors the level holds there, and on which it holds
// already. Between two holds only those loops stand that the outer one's tensor has no rank of (or the hold could be
// lowered: the same words, a smaller tile) and the inner one's tensor has (or it could be raised: fewer words).
//
// What stands below a tile costs at least what the remaining holds cost right there and the inner table has for it: a
// nest for a smaller tile is one for the larger tile, too, with the rest of its loops on top. So once a tile is
// hopeless, so are all that it contains.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "orrery/engines/fused/search/inner_table.h"

namespace orrery::fused {

inline constexpr int kMostHolds = 4;  // of one einsum at the exchange level

struct Placement {
  Cost cost;
  double bits = 0;                                            // that the level holds for it, all at the innermost point
  std::array<std::int8_t, kMostHolds> order{-1, -1, -1, -1};  // accesses, outside in
  std::array<Tile, kMostHolds> tiles{};                       // of each hold
  Tile left{};
  InnerNest nest;
};

class LevelTable {
 public:
  LevelTable(const EinsumShape& shape, Counted counted, Hope& hope);

  // `below`: accesses to hold; `outside`: those and all others that the level holds. `alone`: nothing is added to the
  // ports later, so that only the slowest one counts.
  const std::vector<Placement>& best(const Tile& tile, unsigned below, unsigned outside, bool alone);
  // Of the words that enter a hold at the exchange level with `tile` below it.
  Cost crossing(const Tile& tile, int access) const;
  // No placement costs less in any figure, whatever the tile; and below this one. None: nothing fits below it.
  Cost least(unsigned below, unsigned outside) const;
  const Cost* least(const Tile& tile, unsigned below, unsigned outside);

  const InnerTable& inner() const { return inner_; }
  double priced() const { return priced_; }
  double capacity() const { return capacity_; }

 private:
  // What decides whether a placement is beaten; of `alone` ones the delay stands in `port[0]`.
  struct Figures {
    double bits = 0;
    Cost cost;
    bool no_worse(const Figures& other) const { return bits <= other.bits && cost.no_worse(other.cost); }
  };
  struct Walk {
    unsigned outside;
    bool alone;
    Placement at;
    int holds;
    std::vector<Placement>& out;
    std::vector<Figures> figures;  // of `out`, those that beat most in front
  };
  static Figures figures(const Cost& cost, double bits, bool alone);
  static bool beaten(Walk& walk, const Figures& one);
  void place(Walk& walk, const Tile& tile, unsigned left);
  // Whether all is hopeless that has no larger tile.
  bool share(Walk& walk, Tile tile, int access, int cls, unsigned left);
  bool enter(Walk& walk, const Tile& tile, int access, unsigned left);
  void finish(Walk& walk, const Tile& tile);

  const EinsumShape& shape_;
  Hope& hope_;
  InnerTable inner_;
  double capacity_ = 0;
  std::vector<Cost> each_;  // crossing() = each * repeats - saved
  std::vector<Cost> saved_;
  std::vector<double> word_bits_;
  std::vector<Cost> least_inner_;  // by `outside`
  std::unordered_map<std::uint64_t, std::vector<Placement>> best_;
  Cost bound_;  // scratch of least()
  double priced_ = 0;
};

}  // namespace orrery::fused
