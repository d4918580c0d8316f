// Configurations in families, best bound first, for chips that leave too many to be listed.
//
// A family is a signature for each stage of fan-outs (tile_stages.h). With what is kept where, a chain, its energy is at
// least a sum over storages: the least over the front of what may enter it (tile_fronts.h) of a price for each word. The
// cheapest chain is a shortest path from the outermost storage inwards; its states are who keeps each dataspace so far.
// Where a mapping that takes too many cycles is of no use, front entries that alone load a port for longer are passed
// over.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "orrery/cost/budget.h"
#include "orrery/nest/tile_fronts.h"
#include "orrery/nest/tile_stages.h"

namespace orrery::nest::tiles {

struct Least {
  double energy_pj = std::numeric_limits<double>::infinity();  // leakage aside
  double active = 0;
  double leak_pj_per_cycle = 0;
};

struct Chain {
  std::vector<std::uint32_t> keep;
  Least least;
};

// What mappings that are wanted may take.
struct Wanted {
  std::function<bool(const Least&)> wanted;
  std::function<double(double leak_pj_per_cycle, double energy_pj)> most_active;  // cycles, if so much energy at least
};

class Families {
 public:
  Families(const Problem& problem, const cost::Budget& budget);

  // Of any mapping.
  Least floor() const;
  // Lists the stages, without spreads that leave more than `most_active` cycles of computing.
  void list(double most_active);
  bool complete() const { return complete_; }  // else the budget ended it

  using Family = std::vector<int>;  // a signature of each stage
  // All that are wanted, with their bounds.
  void each(const Wanted& wanted, const std::function<void(const Family&, const Least&)>& use);
  // The chains of one that are wanted.
  std::vector<Chain> chains(const Family& family, const Wanted& wanted);
  // Its configurations with this chain.
  void configs(const Family& family, const Chain& chain, const std::function<void(const Config&)>& use) const;

 private:
  class Pricing;
  void choose(std::size_t stage, Family& family, std::vector<Fanout>& fanouts, double instances, const Wanted& wanted,
              const std::function<void(const Family&, const Least&)>& use);
  std::vector<Fanout> fanouts_of(const Family& family) const;
  std::vector<char> list_followed() const;
  std::uint32_t always_kept() const;
  double compute_cycles(double instances) const { return operations_ / instances; }

  const Problem& problem_;
  const cost::Budget& budget_;
  cost::Ticker clock_;
  mutable Fronts fronts_;  // made as they are asked for
  bool complete_ = true;
  double operations_ = 1;
  std::vector<Stage> stages_;
  std::vector<double> widest_;  // of each stage
  std::vector<Fanout> ideal_;   // of each level
  bool paid_by_instance_ = true;
  std::vector<char> followed_;  // [level]: whether fronts are told what is spread inside it
};

}  // namespace orrery::nest::tiles
