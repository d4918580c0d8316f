// Feasibility depends only on what the outer loops leave of each bound and on which dataspaces found a
// keeper, not on orders or on how the outer loops got there. So a depth-first walk that remembers the
// fronts it has already ruled out visits each of at most levels * divisors * 2^dataspaces once.
#include "orrery/nest/feasibility.h"

#include <algorithm>
#include <map>
#include <set>

namespace orrery::nest {

using base::Count;

namespace {

class Walk {
 public:
  Walk(const workload::Einsum& einsum, const Shape&, const Space& space, int watched)
      : einsum_(einsum), space_(space), watched_(watched) {
    for (const workload::Dimension& dimension : einsum.dimensions) bounds_.push_back(dimension.bound);
  }

  bool any() { return space_.possible() && below(bounds_, space_.levels() - 1, 0); }
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
      const Count words = words_of(extents, mask);
      if (space_.capacity(level) && words > *space_.capacity(level)) continue;
      if (words < space_.minimum_use(level)) continue;
      // Who keeps more here has less left to keep: only masks that no other fitting one contains matter,
      // except where the words themselves are asked for.
      if (level != watched_) {
        if (std::any_of(fitting.begin(), fitting.end(), [&](std::uint32_t other) { return (mask & ~other) == 0; }))
          continue;
        std::erase_if(fitting, [&](std::uint32_t other) { return (other & ~mask) == 0; });
      }
      fitting.push_back(mask);
    }
    for (const std::uint32_t mask : fitting) {
      const Count words = words_of(extents, mask);
      if (level == watched_ && least_ && words >= least_->words) continue;
      if (!loops(extents, level, kept | mask)) continue;
      found = true;
      if (level == watched_) least_ = LeastUse{words, mask, extents};
      if (watched_ < 0 || level < watched_) break;
    }
    return known_[key] = found;
  }

  Count words_of(const std::vector<Count>& extents, std::uint32_t mask) const {
    Count words = 0;
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) words += einsum_.volume(__builtin_ctz(rest), extents);
    return words;
  }

  bool loops(const std::vector<Count>& extents, int level, std::uint32_t kept) {
    bool found = false;
    for (const SpatialChoice& spread : space_.spatial(level)) {
      std::vector<Count> left = extents;
      bool possible = true;
      for (std::size_t d = 0; d < left.size() && possible; ++d) {
        possible = left[d] % spread.factor[d] == 0;
        left[d] /= spread.factor[d];
      }
      if (possible && temporal(left, 0, level, kept)) {
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
      if (whole % *f != 0 || !space_.completable_inside_spatial(level, static_cast<int>(d), whole / *f)) continue;
      left[d] = whole / *f;
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
  std::map<std::vector<Count>, bool> known_;
  std::optional<LeastUse> least_;
};

}  // namespace

bool is_feasible(const workload::Einsum& einsum, const Shape& shape, const Space& space) {
  return Walk(einsum, shape, space, -1).any();
}

std::optional<LeastUse> least_use(const workload::Einsum& einsum, const Shape& shape, const Space& space, int level) {
  Walk walk(einsum, shape, space, level);
  walk.any();
  return walk.least();
}

}  // namespace orrery::nest
