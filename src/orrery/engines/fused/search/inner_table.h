// The best nests inside the exchange level, by the tile that is left for them and by where each tensor comes from.
//
// Moving a loop further in, to the next block where it may stand, makes no word cross more often and some tiles larger.
// So only the fullest nests count: for each line of holds those from which no loop can move in without overfilling a
// storage. Most often everything fits innermost, and there is one.
#pragma once

#include <deque>

#include "orrery/engines/fused/search/nest_lines.h"

namespace orrery::fused {

inline constexpr int kMostFree = 10;

struct InnerNest {
  Cost cost;
  std::uint32_t line = 0;                        // in InnerTable::lines
  std::array<std::uint8_t, kMostFree> counts{};  // of its free blocks: divisors' places
};

class InnerTable {
 public:
  InnerTable(const EinsumShape& shape, Counted counted, Hope& hope);

  // Unbeaten nests for a tile; bit a of `outside` is set where access a comes from the exchange level.
  const std::vector<InnerNest>& best(const Tile& tile, unsigned outside);
  // No nest costs less in any figure, whatever the tile; and for this one, none if nothing fits.
  Cost least(unsigned outside);
  const Cost* least(const Tile& tile, unsigned outside);

  const std::vector<NestLine>& lines() const { return lines_; }
  double priced() const { return priced_; }

 private:
  // One line, one tile.
  struct Walk {
    const NestLine& line;
    const Tile& tile;
    unsigned outside;
    std::uint32_t number;
    Tile left;
    std::array<std::uint8_t, kMostFree> counts;
    std::vector<InnerNest>& out;
    double most = 0;  // that are still to be priced
  };
  struct Entry {
    std::vector<InnerNest> nests;
    Cost least;
  };
  void drop_unwanted();
  const Entry& entry(const Tile& tile, unsigned outside);
  bool fill(Walk& walk, std::size_t free);
  void smallest(Walk& walk);
  bool price(Walk& walk);

  // What a line costs at least, `repeats` by access at its tile.
  Cost least(const NestLine& line, unsigned outside, const std::vector<double>& repeats);

  const EinsumShape& shape_;
  Hope& hope_;
  std::vector<NestLine> lines_;        // those that compute fastest come first
  std::vector<Cost> least_;            // by line: in any figure, wherever its tensors come from
  std::vector<std::uint32_t> wanted_;  // lines
  std::vector<double> used_;           // by storage: scratch of price()
  std::vector<double> inside_;         // by port: the same
  std::uint32_t tiles_ = 1;
  std::vector<std::vector<std::int32_t>> places_;  // by `outside` and tile: in entries_; -1: not yet
  std::deque<Entry> entries_;
  double priced_ = 0;
};

// Puts `one` among what none of them beats.
template <typename One, typename NoWorse>
void keep_unbeaten(std::vector<One>& all, const One& one, const NoWorse& no_worse) {
  for (const One& other : all)
    if (no_worse(other, one)) return;
  std::erase_if(all, [&](const One& other) { return no_worse(one, other); });
  all.push_back(one);
}

}  // namespace orrery::fused
