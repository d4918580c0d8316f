#include "orrery/engines/nest/search/lattice/lattice_mapping.h"

#include <tuple>

#include "orrery/engines/nest/search/objective.h"

namespace orrery::nest::lattice {

using base::Count;

Mapping mapping_of(const LatticeProblem& problem, const SpatialLayout& layout, const Keeps& keeps, const Table& table,
                   const Path& path) {
  const workload::Einsum& einsum = problem.model->einsum();
  const Space& space = *problem.space;
  const std::size_t all = einsum.dimensions.size();
  Mapping mapping;
  mapping.levels.resize(space.levels());
  for (int i = 0; i < space.levels(); ++i) {
    LevelMapping& level = mapping.levels[i];
    const SpatialChoice& spread = space.spatial(i)[layout.choice[i]];
    level.temporal.assign(all, 1);
    level.spatial.assign(spread.factor.begin(), spread.factor.begin() + static_cast<std::ptrdiff_t>(all));
    std::uint32_t iterating = 0;
    for (std::size_t d = 0; d < all; ++d)
      if (level.spatial[d] > 1) iterating |= 1u << d;
    std::tie(level.spatial_order, level.split) = space.full_spatial_order(i, iterating, spread.to_x);
    level.temporal_order = space.full_temporal_order(i, {});
    const int a = problem.label_of(i);
    for (int s = 0; s < kSpaces; ++s)
      if (a >= 0 && (keeps[s] >> a & 1)) level.keep |= 1u << s;
  }
  Triple<Count> before{1, 1, 1};
  for (const Table::Step& step : path) {
    const int storage = problem.levels[step.level].storage;
    const Triple<Count> after = table.values(step.point);
    std::vector<int> iterating;
    if (step.innermost >= 0) iterating.push_back(problem.dimension[step.innermost]);
    for (int d = 0; d < kDims; ++d) {
      if (problem.dimension[d] < 0) continue;
      mapping.levels[storage].temporal[problem.dimension[d]] = after[d] / before[d];
      if (d != step.innermost && after[d] != before[d]) iterating.push_back(problem.dimension[d]);
    }
    mapping.levels[storage].temporal_order = space.full_temporal_order(storage, iterating);
    before = after;
  }
  return mapping;
}

std::pair<double, int> cheapest(const Table& table) {
  double least_pj = kNever;
  int start = -1;
  for (const int p : table.tiles(0))
    if (table.least_pj(0, p) < least_pj) least_pj = table.least_pj(0, p), start = p;
  return {least_pj, start};
}

Path path_from(const Table& table, int levels, int start) {
  Path path{{0, -1, start}};
  while (path.back().level < levels) path.push_back(table.cheapest(path.back().level, path.back().point));
  path.pop_back();
  return path;
}

Loads loads_of(Boundaries& boundaries, const Keeps& keeps, const Table& table, const Path& path, Loads loads) {
  const LatticeProblem& problem = boundaries.problem();
  const int levels = static_cast<int>(problem.levels.size());
  for (std::size_t k = 0; k < path.size(); ++k) {
    const Triple<int> index = table.at(path[k].point);
    const int end = k + 1 < path.size() ? path[k + 1].level : levels;
    for (int s = 0; s < kSpaces; ++s) {
      int reuse = index[problem.blind[s]];
      if (k + 1 < path.size() && path[k + 1].innermost == problem.blind[s])
        reuse = table.at(path[k + 1].point)[problem.blind[s]];
      for (int a = path[k].level; a < end; ++a) {
        const int b = next_keeper(keeps[s], a);
        if ((keeps[s] >> a & 1) && b >= 0) boundaries.add(s, a, b, reuse, loads);
      }
    }
  }
  return loads;
}

}  // namespace orrery::nest::lattice
