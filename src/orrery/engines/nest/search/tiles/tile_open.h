// One configuration of the search over tiles: bounded by its tiles, then searched. See tile_search.cc.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/nest/search/goal.h"
#include "orrery/engines/nest/search/tiles/tile_bound.h"
#include "orrery/engines/nest/search/tiles/tile_candidate.h"
#include "orrery/engines/nest/search/tiles/tile_mappings.h"
#include "orrery/engines/nest/search/tiles/tile_table.h"

namespace orrery::nest::tiles {

class Opener {
 public:
  Opener(const Problem& problem, Goal& goal, const base::Budget& budget);

  // A better bound, by the tiles that fit each storage.
  void sharpen(Candidate& candidate);
  // False: not finished; its bound is what was found out. `most`: nodes; 0: any number.
  bool search(Candidate& candidate, std::uint64_t most);

  std::uint64_t evaluated() const { return mappings_.evaluated(); }
  std::uint64_t bounded() const { return bounded_; }
  std::uint64_t unfit() const { return unfit_; }
  double unresolved() const { return mappings_.unresolved(); }

 private:
  struct Child {
    Key bound;
    int way = 0, tile = 0;
    double settled_pj = 0;
    Loads loads;
  };
  bool drop(const Key& bound) const { return goal_.drop(bound); }
  Key least_key(const Prices& prices, double energy_pj, double active, double together, double rate) const;
  double least_active(const Prices& prices) const;
  // What configurations that leave the same factors share: their tiles, and how loops lead from one to another.
  struct Shared {
    Shared(const Problem& problem, const Factors& factors) : left(factors), lattice(problem, factors) {}
    Factors left;
    Lattice lattice;
    std::optional<Paths> paths;
  };
  Shared& shared_of(const Prices& prices);
  const Paths& paths_of(const Prices& prices);
  Pricing both_pricing(int port) const;
  bool raise(Candidate& candidate, const Key& bound);

  void use(const Prices& prices, const Paths& paths);
  std::optional<bool> tabulate(Candidate& candidate, const Boundaries& dear, double active, double& energy_pj,
                               std::optional<Table>& table, Loads& loads);
  void dive(const Table& table, Loads& loads);
  int finish_rest(const Table& table, int level, int next, const Way& way, int from) const;
  template <typename Use>
  void each_rest(int level, const Way& way, int tile, int d, const Use& use) const;
  void begin(int tile);
  Factors extents(int tile) const;
  double take(int level, int state, const Way& way, int tile, int to, Loads& loads);
  double correct_slides(int level, Loads& loads) const;
  double close(int state, Loads& loads);

  double priced(double energy_pj, const Loads& loads) const;
  Key bound_of(double settled_pj, const Loads& loads, double to_come, double load_to_come, double both_to_come) const;
  bool out_of_time();
  void descend();
  void open(int level, int state, int tile, double settled_pj, const Loads& loads);

  const Problem& problem_;
  Goal& goal_;
  const base::Budget& budget_;
  base::Ticker clock_;
  std::vector<std::vector<Step>> steps_;
  std::map<Factors, Shared> shared_;  // by what is left
  double shared_tiles_ = 0;
  int binding_port_ = -1;  // of the best answer, or none

  // Of the configuration that is searched.
  const Prices* prices_ = nullptr;
  const Paths* paths_in_use_ = nullptr;
  const Lattice* lattice_ = nullptr;
  const Table* table_ = nullptr;
  // Of the port that binds: its load, energy and load together.
  int port_ = 0;
  const Table* alone_ = nullptr;
  const Table* both_ = nullptr;
  double rate_ = 0;
  Loads price_{};
  std::vector<Chosen> chosen_;
  Mappings mappings_;
  std::uint64_t nodes_ = 0, most_nodes_ = 0;
  bool stopped_ = false;

  std::uint64_t bounded_ = 0, unfit_ = 0;
};

}  // namespace orrery::nest::tiles
