// Feasibility depends only on what the outer loops leave of each bound and on which dataspaces found a
// keeper, not on orders or on how the outer loops got there. So a depth-first walk that remembers the
// fronts it has already ruled out visits each of at most levels * divisors * 2^dataspaces once. When they outgrow their
// memory they are dropped, and visited again if necessary.
#include "orrery/engines/nest/space/feasibility.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace orrery::nest {

using base::Count;

namespace {

class Walk {
 public:
  Walk(const workload::Einsum& einsum, const Space& space, int watched, const base::Budget& budget)
      : einsum_(einsum), space_(space), watched_(watched), clock_(budget) {
    for (const workload::Dimension& dimension : einsum.dimensions) bounds_.push_back(dimension.bound);
    mapping_.levels.resize(space.levels());
    const double entry = static_cast<double>((bounds_.size() + 2) * sizeof(Count) + kOfAnEntry);
    most_known_ = static_cast<std::size_t>(std::clamp(budget.room() / 8 / entry, 1e3, 1e9));
  }

  Feasible any() {
    if (space_.possible() && below(bounds_, space_.levels() - 1, 0)) return Feasible::kYes;
    return clock_.was_spent() || !space_.complete() ? Feasible::kUnknown : Feasible::kNo;
  }
  // Of the walk that found one, level 0 the last to be chosen.
  Mapping mapping() {
    for (int level = 0; level < space_.levels(); ++level) {
      LevelMapping& here = mapping_.levels[level];
      std::vector<int> iterating;
      std::uint32_t spread = 0;
      for (std::size_t d = 0; d < bounds_.size(); ++d) {
        if (here.temporal[d] > 1) iterating.push_back(static_cast<int>(d));
        if (here.spatial[d] > 1) spread |= 1u << d;
      }
      here.temporal_order = space_.full_temporal_order(level, iterating);
      std::tie(here.spatial_order, here.split) = space_.full_spatial_order(level, spread, to_x_[level]);
    }
    return mapping_;
  }
  const std::optional<LeastUse>& least() const { return least_; }

 private:
  // Whether storage `level` and everything inside can take `extents`. When a level is watched, every front
  // there is looked at, so the walk goes on after the first success.
  bool below(const std::vector<Count>& extents, int level, std::uint32_t kept) {
    if (level < 0) return kept + 1 == (1u << einsum_.dataspaces.size());
    std::vector<Count> key = extents;
    key.push_back(kept);
    key.push_back(level);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    bool found = false;
    std::vector<std::uint32_t> fitting;
    for (const std::uint32_t mask : space_.keeps(level)) {
      const Count words = words_of(level, extents, mask);
      if (space_.capacity(level) && words > *space_.capacity(level)) continue;
      if (words < space_.minimum_use(level)) continue;
      // Keeping more here leaves less to keep elsewhere, so only maximal fitting masks matter, except when the words
      // themselves are the question.
      if (level != watched_) {
        if (std::any_of(fitting.begin(), fitting.end(), [&](std::uint32_t other) { return (mask & ~other) == 0; }))
          continue;
        std::erase_if(fitting, [&](std::uint32_t other) { return (other & ~mask) == 0; });
      }
      fitting.push_back(mask);
    }
    for (const std::uint32_t mask : fitting) {
      const Count words = words_of(level, extents, mask);
      if (level == watched_ && least_ && words >= least_->words) continue;
      mapping_.levels[level].keep = mask;
      if (!loops(extents, level, kept | mask)) continue;
      found = true;
      if (level == watched_) least_ = LeastUse{words, mask, extents};
      if (watched_ < 0 || level < watched_) break;
    }
    if (clock_.was_spent()) return found;
    if (known_.size() >= most_known_) known_.clear();
    return known_[key] = found;
  }

  Count words_of(int level, const std::vector<Count>& extents, std::uint32_t mask) const {
    Count words = 0;
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1)
      words += space_.units(level, __builtin_ctz(rest)) * einsum_.volume(__builtin_ctz(rest), extents);
    return words;
  }

  bool loops(const std::vector<Count>& extents, int level, std::uint32_t kept) {
    bool found = false;
    std::vector<Count> left;
    for (const SpatialChoice& spread : space_.spatial(level)) {
      if (clock_.spent()) return found;
      left = extents;
      bool possible = true;
      for (std::size_t d = 0; d < left.size() && possible; ++d) {
        possible = left[d] % spread.factor[d] == 0;
        left[d] /= spread.factor[d];
      }
      if (!possible) continue;
      mapping_.levels[level].spatial.assign(spread.factor.begin(), spread.factor.begin() + std::ssize(left));
      mapping_.levels[level].temporal.assign(left.size(), 1);
      to_x_[level] = spread.to_x;
      if (temporal(left, 0, level, kept)) {
        found = true;
        if (watched_ < 0 || level <= watched_) return true;
      }
    }
    return found;
  }

  bool temporal(std::vector<Count>& left, std::size_t d, int level, std::uint32_t kept) {
    if (d == left.size()) return below(left, level - 1, kept);
    bool found = false;
    const Count whole = left[d];
    // Large factors first: they leave small tiles, which are the ones most likely to fit.
    const std::vector<Count>& allowed = space_.temporal(level, static_cast<int>(d));
    for (auto f = allowed.rbegin(); f != allowed.rend(); ++f) {
      if (clock_.spent()) break;
      if (whole % *f != 0 || !space_.completable_inside_spatial(level, static_cast<int>(d), whole / *f)) continue;
      left[d] = whole / *f;
      mapping_.levels[level].temporal[d] = *f;
      if (temporal(left, d + 1, level, kept)) {
        found = true;
        if (watched_ < 0 || level <= watched_) break;
      }
    }
    left[d] = whole;
    return found;
  }

  const workload::Einsum& einsum_;
  const Space& space_;
  const int watched_;
  std::vector<Count> bounds_;
  static constexpr std::size_t kOfAnEntry = 128;  // bytes of the tree and the allocator
  std::map<std::vector<Count>, bool> known_;
  std::size_t most_known_ = 0;
  base::Ticker clock_;
  Mapping mapping_;
  std::array<std::uint32_t, kMaxLevels> to_x_{};
  std::optional<LeastUse> least_;
};

}  // namespace

Feasible feasible(const workload::Einsum& einsum, const Space& space, const base::Budget& budget) {
  return Walk(einsum, space, -1, budget).any();
}

std::optional<Mapping> any_mapping(const workload::Einsum& einsum, const Space& space, const base::Budget& budget) {
  Walk walk(einsum, space, -1, budget);
  if (walk.any() != Feasible::kYes) return std::nullopt;
  return walk.mapping();
}

std::optional<LeastUse> least_use(const workload::Einsum& einsum, const Space& space, int level,
                                  const base::Budget& budget) {
  Walk walk(einsum, space, level, budget);
  walk.any();
  return walk.least();
}

}  // namespace orrery::nest
