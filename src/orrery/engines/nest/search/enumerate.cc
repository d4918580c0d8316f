#include "orrery/engines/nest/search/enumerate.h"

#include <algorithm>

namespace orrery::nest {

using base::Count;

namespace {

class Enumerator {
 public:
  Enumerator(const workload::Einsum& einsum, const Space& space, const std::function<bool(const Mapping&)>& use,
             const base::Budget& budget)
      : einsum_(einsum), space_(space), use_(use), clock_(budget, 16) {
    mapping_.levels.resize(space.levels());
    for (const workload::Dimension& dimension : einsum.dimensions) bounds_.push_back(dimension.bound);
  }

  bool run() { return !space_.possible() || level(space_.levels() - 1, bounds_, 0); }

 private:
  bool level(int i, const std::vector<Count>& extents, std::uint32_t kept) {
    if (i < 0) return kept + 1 != (1u << einsum_.dataspaces.size()) || use_(mapping_);
    for (const std::uint32_t mask : space_.keeps(i)) {
      Count words = 0;
      for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1)
        words += einsum_.volume(__builtin_ctz(rest), extents);
      if (words < space_.minimum_use(i) || (space_.capacity(i) && words > *space_.capacity(i))) continue;
      mapping_.levels[i].keep = mask;
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
        std::uint32_t iterating = 0;
        for (std::size_t d = 0; d < left.size(); ++d)
          if (spread.factor[d] > 1) iterating |= 1u << d;
        std::tie(mapping.spatial_order, mapping.split) = space_.full_spatial_order(i, iterating, spread.to_x);
        mapping.temporal.assign(left.size(), 1);
        if (!factors(i, 0, left, kept | mask)) return false;
      }
    }
    return true;
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
  Mapping mapping_;
  std::vector<Count> bounds_;
};

void lay_out(const Space& space, Mapping& mapping, std::size_t level, const std::function<bool(const Mapping&)>& fits,
             const std::function<void(const Mapping&)>& use) {
  std::vector<int> moving;
  std::uint32_t iterating = 0;
  for (; level < mapping.levels.size(); ++level) {
    moving.clear();
    iterating = 0;
    const std::vector<Count>& spatial = mapping.levels[level].spatial;
    for (std::size_t d = 0; d < spatial.size(); ++d)
      if (spatial[d] > 1) moving.push_back(static_cast<int>(d)), iterating |= 1u << d;
    if (!moving.empty()) break;
  }
  if (level == mapping.levels.size()) return use(mapping);
  const LevelMapping before = mapping.levels[level];
  for (std::uint32_t part = 0; part < 1u << moving.size(); ++part) {
    std::uint32_t to_x = 0;
    for (std::size_t k = 0; k < moving.size(); ++k)
      if (part >> k & 1) to_x |= 1u << moving[k];
    const auto [order, split] = space.full_spatial_order(static_cast<int>(level), iterating, to_x);
    std::vector<int> x, y;
    for (std::size_t at = 0; at < order.size(); ++at)
      if (iterating >> order[at] & 1) (static_cast<int>(at) < split ? x : y).push_back(order[at]);
    std::sort(x.begin(), x.end());
    do {
      std::sort(y.begin(), y.end());
      do {
        std::size_t next_x = 0, next_y = 0;
        LevelMapping& own = mapping.levels[level];
        own.spatial_order = order;
        own.split = split;
        for (std::size_t at = 0; at < order.size(); ++at)
          if (iterating >> order[at] & 1)
            own.spatial_order[at] = static_cast<int>(at) < split ? x[next_x++] : y[next_y++];
        if (fits(mapping)) lay_out(space, mapping, level + 1, fits, use);
      } while (std::next_permutation(y.begin(), y.end()));
    } while (std::next_permutation(x.begin(), x.end()));
  }
  mapping.levels[level] = before;
}

}  // namespace

void for_each_layout(const Space& space, const Mapping& mapping, const std::function<bool(const Mapping&)>& fits,
                     const std::function<void(const Mapping&)>& use) {
  Mapping laid = mapping;
  lay_out(space, laid, 0, fits, use);
}

bool enumerate(const workload::Einsum& einsum, const Space& space, const std::function<bool(const Mapping&)>& use,
               const base::Budget& budget) {
  return Enumerator(einsum, space, use, budget).run();
}

}  // namespace orrery::nest
