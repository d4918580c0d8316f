#include "orrery/engines/nest/search/enumerate.h"

#include <algorithm>

namespace orrery::nest {

using base::Count;

namespace {

class Enumerator {
 public:
  Enumerator(const workload::Einsum& einsum, const Space& space, const std::function<bool(const Mapping&)>& use,
             const base::Budget& budget, const EnumerationRules& rules)
      : einsum_(einsum), space_(space), use_(use), clock_(budget, 16), rules_(rules) {
    for (const workload::Dimension& dimension : einsum.dimensions) bounds_.push_back(dimension.bound);
    const std::vector<Count> ones(bounds_.size(), 1);
    for (int i = 0; i < space.levels(); ++i) {
      const std::vector<int> order = space.full_temporal_order(i, {});
      mapping_.levels.push_back({ones, order, ones, order, 0, 0, {}, {}});
    }
  }

  bool run() { return !space_.possible() || level(space_.levels() - 1, bounds_, 0); }

 private:
  bool level(int i, const std::vector<Count>& extents, std::uint32_t kept) {
    if (++looked_ > rules_.most) return false;
    if (i < 0) return kept + 1 != (1u << einsum_.dataspaces.size()) || use_(mapping_);
    for (const std::uint32_t mask : space_.keeps(i)) {
      Count words = 0;
      for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1)
        words += space_.units(i, __builtin_ctz(rest)) * einsum_.volume(__builtin_ctz(rest), extents);
      if (words < space_.minimum_use(i) || (space_.capacity(i) && words > *space_.capacity(i))) continue;
      mapping_.levels[i].keep = mask;
      if (rules_.open && !open(i, extents)) {
        if (clock_.spent()) return false;
        continue;
      }
      for (const SpatialChoice& spread : space_.spatial(i)) {
        if (clock_.spent()) return false;
        std::vector<Count> left = extents;
        bool possible = true;
        for (std::size_t d = 0; d < left.size() && possible; ++d) {
          possible = left[d] % spread.factor[d] == 0;
          left[d] /= spread.factor[d];
        }
        if (!possible) continue;
        LevelMapping& mapping = mapping_.levels[i];
        mapping.spatial.assign(spread.factor.begin(), spread.factor.begin() + static_cast<std::ptrdiff_t>(left.size()));
        for (auto& [order, split] : layouts(i, spread)) {
          mapping.spatial_order = std::move(order);
          mapping.split = split;
          mapping.temporal.assign(left.size(), 1);
          if (!factors(i, 0, left, kept | mask)) return false;
        }
      }
    }
    return true;
  }

  bool open(int i, const std::vector<Count>& extents) {
    for (int j = 0; j <= i; ++j) {
      LevelMapping& level = mapping_.levels[j];
      level.temporal.assign(extents.size(), 1);
      level.spatial.assign(extents.size(), 1);
      if (j < i) level.keep = 0;
    }
    mapping_.levels[i].temporal = extents;
    return rules_.open(mapping_, i);
  }

  std::vector<Layout> layouts(int i, const SpatialChoice& spread) const {
    if (rules_.layouts) return space_.layouts(i, spread.factor.data());
    std::uint32_t iterating = 0;
    for (std::size_t d = 0; d < bounds_.size(); ++d)
      if (spread.factor[d] > 1) iterating |= 1u << d;
    return {space_.full_spatial_order(i, iterating, spread.to_x)};
  }

  bool factors(int i, std::size_t d, std::vector<Count>& left, std::uint32_t kept) {
    if (d == left.size()) return orders(i, left, kept);
    const Count whole = left[d];
    for (const Count f : space_.temporal(i, static_cast<int>(d))) {
      if (clock_.spent()) return false;
      if (whole % f != 0) continue;
      left[d] = whole / f;
      mapping_.levels[i].temporal[d] = f;
      const bool more =
          !space_.completable_inside_spatial(i, static_cast<int>(d), left[d]) || factors(i, d + 1, left, kept);
      left[d] = whole;
      if (!more) return false;
    }
    mapping_.levels[i].temporal[d] = 1;
    return true;
  }

  bool orders(int i, const std::vector<Count>& left, std::uint32_t kept) {
    std::vector<int> iterating;
    for (std::size_t d = 0; d < left.size(); ++d)
      if (mapping_.levels[i].temporal[d] > 1) iterating.push_back(static_cast<int>(d));
    const std::vector<Count> temporal = mapping_.levels[i].temporal;
    std::vector<std::vector<int>> seen;
    do {
      // Constraints may force several permutations into the same order.
      std::vector<int> full = space_.full_temporal_order(i, iterating);
      if (std::find(seen.begin(), seen.end(), full) != seen.end()) continue;
      seen.push_back(full);
      mapping_.levels[i].temporal_order = std::move(full);
      mapping_.levels[i].temporal = temporal;
      const LevelMapping saved = mapping_.levels[i];
      if (clock_.spent() || !level(i - 1, left, kept)) return false;
      mapping_.levels[i] = saved;
    } while (std::next_permutation(iterating.begin(), iterating.end()));
    return true;
  }

  const workload::Einsum& einsum_;
  const Space& space_;
  const std::function<bool(const Mapping&)>& use_;
  base::Ticker clock_;
  const EnumerationRules& rules_;
  std::uint64_t looked_ = 0;
  Mapping mapping_;
  std::vector<Count> bounds_;
};

void lay_out(const Space& space, Mapping& mapping, int level, const std::function<bool(const Mapping&)>& fits,
             const std::function<void(const Mapping&)>& use) {
  if (level == space.levels()) {
    if (fits(mapping)) use(mapping);
    return;
  }
  LevelMapping& own = mapping.levels[level];
  for (auto& [order, split] : space.layouts(level, own.spatial.data())) {
    own.spatial_order = std::move(order);
    own.split = split;
    lay_out(space, mapping, level + 1, fits, use);
  }
}

}  // namespace

void for_each_layout(const Space& space, const Mapping& mapping, const std::function<bool(const Mapping&)>& fits,
                     const std::function<void(const Mapping&)>& use) {
  Mapping laid = mapping;
  lay_out(space, laid, 0, fits, use);
}

bool enumerate(const workload::Einsum& einsum, const Space& space, const std::function<bool(const Mapping&)>& use,
               const base::Budget& budget, const EnumerationRules& rules) {
  return Enumerator(einsum, space, use, budget, rules).run();
}

}  // namespace orrery::nest
