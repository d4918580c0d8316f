#include "orrery/engines/nest/sparse/sparse_nest.h"

#include <algorithm>

namespace orrery::nest {

using base::Count;

SparseNest::SparseNest(const workload::Einsum& einsum, const Shape& shape, const Mapping& mapping)
    : einsum_(einsum), shape_(shape), mapping_(mapping), scalar_(einsum.dimensions.size(), 1) {
  Extents extents = scalar_;
  for (const LevelMapping& level : mapping.levels) {
    auto& loops = loops_.emplace_back();
    auto& swept = swept_.emplace_back();
    const auto add = [&](int d, Count iterations, bool spatial) {
      if (iterations == 1) return;
      extents[static_cast<std::size_t>(d)] *= iterations;
      loops.push_back({d, iterations, spatial});
      swept.push_back(extents);
    };
    for (const int d : level.spatial_order) add(d, level.spatial[static_cast<std::size_t>(d)], true);
    for (const int d : level.temporal_order) add(d, level.temporal[static_cast<std::size_t>(d)], false);
    tile_.push_back(extents);
  }
}

int SparseNest::child(int level, int s) const {
  for (int inner = level - 1; inner >= 0; --inner)
    if (keeps(inner, s)) return inner;
  return -1;
}

int SparseNest::parent(int level, int s) const {
  for (int outer = level + 1; outer < levels(); ++outer)
    if (keeps(outer, s)) return outer;
  return -1;
}

Mold SparseNest::mold(int s, const Extents& extents) const {
  Mold mold;
  for (const workload::Rank& rank : einsum_.dataspaces[static_cast<std::size_t>(s)].ranks) {
    Count extent = 1;
    for (const workload::Term& term : rank.terms) {
      const std::size_t d = static_cast<std::size_t>(term.dimension);
      extent += term.coefficient * (std::min(extents[d], einsum_.dimensions[d].bound) - 1);
    }
    mold.extents.push_back(extent);
    mold.words *= extent;
  }
  return mold;
}

}  // namespace orrery::nest
