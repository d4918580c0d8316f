// Loops that a step names have their place; the others may stand in any order, which costs the same unless something
// was bounded only: instances on a diagonal, slides that go on. Then what the order changes may make up for it, and all
// orders of one mapping are tried, each some microseconds.
#include "orrery/engines/nest/search/tiles/tile_mappings.h"

#include <algorithm>
#include <tuple>

namespace orrery::nest::tiles {

void Mappings::offer(const Config& config, const std::vector<Chosen>& all, const Key& promised) {
  ++evaluated_;
  Mapping mapping;
  Orders named, others;
  for (int level = 0; level < problem_.levels; ++level) {
    const Chosen& chosen = all[level];
    std::vector<int>& order = named.emplace_back();
    std::vector<int>& rest = others.emplace_back();
    std::uint32_t placed = 0;
    if (chosen.step)
      for (const int d : chosen.step->order)
        if (chosen.loops[d] > 1) order.push_back(problem_.dimension[d]), placed |= 1u << d;
    for (int d = 0; d < problem_.dimensions(); ++d)
      if (chosen.loops[d] > 1 && !(placed >> d & 1)) rest.push_back(problem_.dimension[d]);
    mapping.levels.push_back(realise(config, level, chosen));
    set_order(level, mapping.levels.back(), order, rest);
  }
  const Key found = offer(mapping);
  if (promised[0] == 0 || compare(found, promised, 1) <= 0) return;
  if (goal_.drop(promised)) return;
  for (int level = 0; level < problem_.levels; ++level) {
    others[level].insert(others[level].end(), named[level].begin(), named[level].end());
    named[level].clear();
  }
  // A mapping is found once for each way in which a slide may go on; its orders are the same each time.
  std::vector<Count> factors;
  for (const Chosen& chosen : all)
    factors.insert(factors.end(), chosen.loops.begin(), chosen.loops.begin() + problem_.dimensions());
  if (permuted_.contains(factors)) return;
  int left = limits::kMostOrders;
  if (permute(mapping, named, others, 0, left))
    permuted_.insert(std::move(factors));
  else if (left < 0)
    unresolved_ = std::min(unresolved_, promised[0]);
}

Key Mappings::offer(const Mapping& mapping) {
  problem_.model->evaluate(mapping, evaluation_);
  goal_.offer(mapping, evaluation_);
  return key_of(goal_.objective(), evaluation_);
}

bool Mappings::permute(Mapping& mapping, const Orders& named, Orders& others, int level, int& left) {
  if (level == problem_.levels) {
    if (--left < 0 || stopped_()) return false;
    offer(mapping);
    return true;
  }
  if (level == 0) return permute(mapping, named, others, 1, left);
  std::sort(others[level].begin(), others[level].end());
  do {
    set_order(level, mapping.levels[level], named[level], others[level]);
    if (!permute(mapping, named, others, level + 1, left)) return false;
  } while (std::next_permutation(others[level].begin(), others[level].end()));
  return true;
}

void Mappings::set_order(int level, LevelMapping& mapping, const std::vector<int>& named,
                         const std::vector<int>& rest) const {
  std::vector<int> iterating = named;
  iterating.insert(iterating.end(), rest.begin(), rest.end());
  mapping.temporal_order = problem_.space->full_temporal_order(level, iterating);
}

LevelMapping Mappings::realise(const Config& config, int level, const Chosen& chosen) const {
  LevelMapping mapping;
  const std::size_t all = problem_.model->einsum().dimensions.size();
  mapping.temporal.assign(all, 1);
  mapping.spatial.assign(all, 1);
  const SpatialChoice& choice = problem_.space->spatial(level)[config.choice[level]];
  std::uint32_t spread = 0;
  for (int d = 0; d < problem_.dimensions(); ++d) {
    const int original = problem_.dimension[d];
    mapping.temporal[original] = chosen.loops[d];
    mapping.spatial[original] = choice.factor[original];
    if (choice.factor[original] > 1) spread |= 1u << original;
  }
  std::tie(mapping.spatial_order, mapping.split) = problem_.space->full_spatial_order(level, spread, choice.to_x);
  mapping.keep = config.keep[level];
  return mapping;
}

}  // namespace orrery::nest::tiles
