// Configurations in families, for chips that leave too many to be listed.
//
// A family is a signature for each stage of fan-outs (tile_stages.h), or for some of them, the outermost first: then it
// stands for all that agree in these, and fan-outs no dearer than any of the other stages are taken for theirs. What it
// costs at least is the cheapest chain under its fan-outs (tile_chains.h). So families are decided stage by stage,
// those of least cost first.
#pragma once

#include <functional>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/nest/search/tiles/tile_chains.h"
#include "orrery/engines/nest/search/tiles/tile_fronts.h"
#include "orrery/engines/nest/search/tiles/tile_stages.h"

namespace orrery::nest::tiles {

struct Chain {
  std::vector<std::uint32_t> keep;
  Least least;
};

class Families {
 public:
  Families(const Problem& problem, const base::Budget& budget);

  // Of any mapping.
  Least floor();
  // Lists the stages, without spreads that leave more than `most_active` cycles of computing.
  void list(double most_active, const base::Budget& budget);
  bool complete() const { return complete_; }  // else the budget ended it

  using Family = std::vector<int>;  // a signature of each stage; -1: any
  Family any() const;
  static bool decided(const Family& family) { return family.empty() || family.front() >= 0; }
  // With one stage more decided: those that are wanted.
  void decide(const Family& family, const Wanted& wanted, const std::function<void(const Family&, const Least&)>& use);
  // The chains of one that is decided; those that are wanted.
  std::vector<Chain> chains(const Family& family, const Wanted& wanted);
  // Its configurations with this chain, until `use` has enough. False: it never had.
  bool configs(const Family& family, const std::vector<std::uint32_t>& keep,
               const std::function<bool(const Config&)>& use) const;

 private:
  std::vector<Fanout> fanouts_of(const Family& family) const;
  std::vector<char> list_followed() const;
  std::uint32_t always_kept() const;
  double compute_cycles(double instances) const { return operations_ / instances; }

  const Problem& problem_;
  Fronts fronts_;  // made as they are asked for
  Chains chains_;
  bool complete_ = true;
  double operations_ = 1;
  double outermost_active_ = 0;  // the least, of any mapping
  std::vector<Stage> stages_;
  std::vector<double> widest_;              // of each stage
  std::vector<std::vector<Fanout>> ideal_;  // of each stage
  bool paid_by_instance_ = true;
  std::vector<char> followed_;  // [level]: whether fronts are told what is spread inside it
};

}  // namespace orrery::nest::tiles
