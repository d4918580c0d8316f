// What the search over tiles has in its queue, and what it chooses on the way to a mapping. See tile_search.cc.
#pragma once

#include <cstdint>

#include "orrery/engines/nest/search/objective.h"
#include "orrery/engines/nest/search/tiles/tile_problem.h"
#include "orrery/engines/nest/search/tiles/tile_steps.h"
#include "orrery/engines/nest/search/tiles/tile_table.h"

namespace orrery::nest::tiles {

namespace limits {

inline constexpr std::size_t kMostConfigs = 400'000;
inline constexpr double kMostTiles = 1e6;                       // of a configuration that is bounded by them
inline constexpr double kMostBytes = 1e9, kBytesOfATile = 400;  // of tables, for each level and tile
inline constexpr double kMostPathTiles = 1e6;  // of lattices kept for other configurations, 100 bytes each
inline constexpr double kFirstTrial = 1.25, kNextTrial = 1.6;  // of the least energy
inline constexpr double kNearby = 1.25;                        // rates that differ by less serve as well
inline constexpr int kMostOrders = 3'000;                      // of one mapping whose bound promised more
inline constexpr double kForListing = 1.0 / 4;                 // of the time
inline constexpr double kManyTiles = 1e4;                      // whose tables take longer than a first mapping
inline constexpr std::size_t kMostFirst = 8;
inline constexpr std::size_t kMostLooks = 64;
inline constexpr int kAnnealed = 40'000;              // random changes of the first mapping
inline constexpr std::uint64_t kFirstNodes = 20'000;  // of a configuration, before others have their turn

}  // namespace limits

// How many there are, those included whose factors do not divide.
inline double configurations(const Problem& problem) {
  double all = 1;
  for (int level = 0; level < problem.levels; ++level)
    all *= static_cast<double>(problem.space->spatial(level).size()) *
           static_cast<double>(problem.space->keeps(level).size());
  return all;
}

// What has been made of a configuration: listed, bounded by its tiles, searched for a while or to the end.
enum class Progress { kFamily, kChain, kListed, kSharpened, kLast, kDone };

struct Candidate {
  Config config;  // of a family and a chain: signatures in place of choices
  Key bound{};
  Progress stage = Progress::kListed;
};

// One level's choice on the way from the inside outwards.
struct Chosen {
  const Step* step = nullptr;
  std::uint32_t continuing = 0;  // dataspaces whose slide may go on further out
  Open open;                     // before
  Factors inside, loops;
};

}  // namespace orrery::nest::tiles
