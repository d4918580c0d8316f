// The mappings that the loops chosen for each level stand for. See tile_search.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "orrery/engines/nest/search/goal.h"
#include "orrery/engines/nest/search/tiles/tile_candidate.h"

namespace orrery::nest::tiles {

class Mappings {
 public:
  // `stopped` says whether the search is to end.
  Mappings(const Problem& problem, Goal& goal, std::function<bool()> stopped)
      : problem_(problem), goal_(goal), stopped_(std::move(stopped)) {}

  // Offers the mapping; where it costs more than `promised`, in every order of its loops. Nothing is promised: zeros.
  void offer(const Config& config, const std::vector<Chosen>& chosen, const Key& promised);

  void forget_orders() { permuted_.clear(); }
  std::uint64_t evaluated() const { return evaluated_; }
  // The least bound of mappings that were not tried in every order.
  double unresolved() const { return unresolved_; }

 private:
  using Orders = std::vector<std::vector<int>>;  // loops of each level, from the inside
  Key offer(const Mapping& mapping);
  bool permute(Mapping& mapping, const Orders& named, Orders& others, int level, int& left);
  void set_order(int level, LevelMapping& mapping, const std::vector<int>& named, const std::vector<int>& rest) const;
  LevelMapping realise(const Config& config, int level, const Chosen& chosen) const;

  const Problem& problem_;
  Goal& goal_;
  Evaluation evaluation_;
  const std::function<bool()> stopped_;
  std::set<std::vector<Count>> permuted_;  // factors whose loops were tried in every order
  double unresolved_ = kNever;
  std::uint64_t evaluated_ = 0;
};

}  // namespace orrery::nest::tiles
