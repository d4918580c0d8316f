// The lattice search at work: what its files share. lattice.cc says how it goes.
//
//     lattice.cc          chunks of layouts, from the quick ones to the slow ones; answers
//     lattice_open.cc     a layout is made ready, with the bounds that need no table
//     lattice_keeps.cc  all choices of what to keep under one layout, bounded together
//     lattice_descend.cc  what to keep, choice by choice, from the outermost level inwards; the mappings of one choice
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "orrery/engines/nest/search/gap.h"
#include "orrery/engines/nest/search/goal.h"
#include "orrery/engines/nest/search/lattice/lattice_boundary.h"
#include "orrery/engines/nest/search/lattice/lattice_capacity.h"
#include "orrery/engines/nest/search/lattice/lattice_inside.h"
#include "orrery/engines/nest/search/lattice/lattice_labels.h"
#include "orrery/engines/nest/search/lattice/lattice_mapping.h"
#include "orrery/engines/nest/search/lattice/lattice_room.h"
#include "orrery/engines/nest/search/lattice/lattice_table.h"
#include "orrery/engines/nest/search/lattice/lattice_weights.h"
#include "orrery/engines/nest/search/search_rules.h"

namespace orrery::nest::lattice {

// A layout with what every mapping under it costs at least.
struct BoundedLayout {
  Key bound{};
  std::size_t layout = 0;
  double energy_pj = 0;
};

// Choices of what a layout keeps beyond which their common bound costs less than they do one by one.
inline constexpr int kFewLooks = 5000;
// Points of a lattice that is searched almost at once, without a look at the clock.
inline constexpr double kQuickPoints = 10'000;
// The part of the memory that lists may take.
inline constexpr double kForLists = 1.0 / 16;

inline std::size_t in_room(double bytes, double each, double least, double most) {
  return static_cast<std::size_t>(std::min(std::max(bytes / each, least), most));  // `most` may be the less of both
}

inline double points_of(const Boundaries& boundaries) {
  double points = 1;
  for (int d = 0; d < kDims; ++d) points *= static_cast<double>(boundaries.axis(d).value.size());
  return points;
}

// Bytes that a layout at work takes for each point: tables, fitting tiles, labels seen.
inline double bytes_of_point(const LatticeProblem& problem) {
  constexpr double kOfTable = (1 + kDims) * sizeof(double), kOfFits = 3 * (1 + sizeof(int) + sizeof(double));
  return static_cast<double>(problem.levels.size()) * (int{kCriteria} * kOfTable + kOfFits + sizeof(std::vector<int>)) +
         sizeof(Triple<int>) + 6 * sizeof(double);
}

class LatticeSearch {
 public:
  LatticeSearch(const LatticeProblem& problem, const std::vector<Metric>& objective, const SearchRules& limits,
                const base::Budget& budget, GapWatch* watch);

  Optimum run();

 private:
  void search();

  // Mappings that the search passes over cost at least so much.
  void leave(const Key& bound);

  double most_points() const;
  // Three axes alike; where one is shorter, the others might be longer.
  static std::size_t per_axis(double points) { return in_room(std::cbrt(points), 1, 4, 1e9); }

  // Bytes of a layout that waits for its turn, tables apart.
  double bytes_of_opened() const;

  // `beyond`: no mapping under any other layout is below that.
  void search_layouts(const std::vector<SpatialLayout>& all, double beyond);

  void raise_bound(double bound) { lower_bound_ = std::max(lower_bound_, bound); }

  bool out_of_time();

  // For steps that cost less than reading the clock.
  bool ticked_out_of_time() { return stopped_ = stopped_ || ticker_.spent(); }

  // A layout at work.
  struct Opened {
    Opened(const LatticeProblem& problem, const SpatialLayout& layout, Axes& axes, LargestTiles& largest)
        : prices(problem, layout), boundaries(problem, prices, axes, largest) {}

    Prices prices;
    Boundaries boundaries;
    std::unique_ptr<CapacityBound> capacity;
    std::vector<Candidate> candidates;                 // all that may be better, where they are few
    std::array<std::optional<Keeps>, kScarce> likely;  // of the least energy, and of the least together
    Key bound{};
    double least_pj = 0;                  // by bound 1
    double cycles = 0;                    // at least
    Triple<Loads> chains{};               // loads at least, by dataspace
    std::vector<Criterion> criteria{{}};  // energy alone; where a resource is scarce, all
    double mu = 0;
    Weights slow, traded;                         // of the cycles alone, of energy and cycles together
    bool learnt = false;                          // whether they have been answered here
    std::vector<std::unique_ptr<Table>> tables;   // by criterion
    std::vector<std::unique_ptr<Inside>> inside;  // likewise, where there are many choices to try
    Inside::Choices choices;                      // those that are left then
  };

  // The resource that is the slowest when only energy counts; -1 where that is the compute units.
  int scarcest(const Loads& loads, double cycles) const;

  // Computes apart.
  Key bound_of(const Opened& here, const Least& least, double cycles) const;

  // What each dataspace may load in a mapping that takes so much energy at least and can still be better.
  Triple<Loads> most_loads(const Opened& here, double energy_pj) const;

  Loads all_resources() const;

  // Null where the layout is dropped. `chains_pj`: by bound 1, computes included. Where its lattice is too large, what
  // is opened has some of the divisors only.
  std::unique_ptr<Opened> open(const SpatialLayout& layout, double chains_pj);

  std::unique_ptr<Opened> open_on(Axes& axes, const SpatialLayout& layout, double chains_pj);

  // Criteria by the weights.
  void weigh(Opened& here) const;

  // Bound 2. False where the layout is dropped.
  bool bound(Opened& here, double least_pj);

  // `beyond`: the bound of all later chunks.
  void search_chunk(const std::vector<SpatialLayout>& all, std::span<const BoundedLayout> starts, double beyond);

  // Those that may be better, where they are not listed yet. Whether it stopped short of all of them.
  bool list_candidates(Opened& here, std::size_t most);

  void make_tables(Opened& here);

  // Mappings that are probably good: the cheapest ones with what is kept that the capacity bound ranks first.
  void probe(Opened& here);

  bool drop(const Opened& here, const Candidate& candidate) const;

  // The candidates agree on what is kept of levels i and outwards, for which the tables are set; `outer` and
  // `terms` are where those keep each dataspace and what the capacity bound says of them.
  void descend(Opened& here, int i, const CapacityBound::Outer& outer, const Least& terms,
               const std::vector<Candidate>& candidates);

  // So many choices of what to keep are tried one by one in the time that it takes to bound all of them together.
  std::size_t few_candidates(const Opened& here) const;

  // All choices of what to keep under one layout, bounded together by each criterion (lattice_inside.h) before any is
  // tried.
  void search_all_keeps(Opened& here);

  Loads try_cheapest(Opened& here, int k);

  // False where nothing of the layout may be better. `most`: what each dataspace may load.
  bool bound_all_keeps(Opened& here, const Triple<Loads>& most);

  // Weights that are tried for one layout at most.
  static int rounds_of(const Opened& here);

  // As descend(), with no list of candidates: `keeps` are those of levels i and outwards, `loads` what they load at
  // least.
  void descend_all(Opened& here, int i, const CapacityBound::Outer& outer, const Keeps& keeps, const Least& terms,
                   const Loads& loads, const Triple<Loads>& most);

  // Whether some tile at level i, whatever is kept further in, may lead to something better.
  bool any_tile_of_all(const Opened& here, int i, const CapacityBound::Outer& outer, double cycles);

  static double least_of_tiles(const Table& table, int i);

  // Whether some tile at level i, with what the levels inside cost at least when they have that tile outside, may
  // lead to something better. `outer` is what the levels inside see.
  bool any_tile(const Opened& here, int i, CapacityBound::Outer outer, const Candidate& candidate) const;

  // All levels are chosen and the tables set.
  void search_candidate(Opened& here, const Candidate& candidate);

  Key leaf(const Prices& prices, const Table& table, const Keeps& keeps, const Path& path);

  const LatticeProblem& problem_;
  const std::vector<Metric>& objective_;
  const SearchRules& limits_;
  const base::Budget& budget_;
  base::Ticker ticker_{budget_, 64};
  GapWatch* watch_;
  Goal goal_;
  Blocks blocks_;
  Axes axes_;
  LargestTiles largest_;
  Axes coarse_axes_;  // with some of the divisors
  const std::size_t most_layouts_, most_candidates_, chunk_;
  std::optional<Key> left_;  // no mapping that the search passed over for want of memory is below
  Tally tally_;
  double lower_bound_ = 0;
  bool slowed_ = false;  // the best answer takes more cycles than its compute units need
  Weights slow_, traded_;
  int bottleneck_ = -1;  // the resource that slowed the last answer that was not the least energy in the least cycles
  bool stopped_ = false;
};

}  // namespace orrery::nest::lattice
