// A change gives one loop other iterations, or a fan-out another vector, and lets the loop of another level take what
// is left; or it lets a level keep other dataspaces, or moves a loop to the innermost place of its level. The first
// change that helps is taken. Cost: two microseconds a try.
#include "orrery/engines/nest/search/local_search.h"

#include <algorithm>
#include <tuple>

namespace orrery::nest {

using base::Count;

namespace {

constexpr int kMostTries = 15'000;
constexpr std::size_t kMostSpreadsARound = 40;  // of a level, tried in a round

class SingleChanges {
 public:
  SingleChanges(const Space& space, const std::vector<Count>& bounds, const Mapping& from,
                const std::function<bool(const Mapping&)>& better, base::Ticker& clock)
      : space_(space), bounds_(bounds), best_(from), better_(better), clock_(clock) {}

  void run() {
    for (bool helped = true; helped && !done();) {
      helped = change_loops();
      helped = change_spreads() || helped;
      helped = change_keeps() || helped;
      helped = change_orders() || helped;
      ++round_;
    }
  }

 private:
  bool done() { return tries_ >= kMostTries || clock_.spent(); }

  bool take(Mapping next) {
    ++tries_;
    if (!trim(next, bounds_) || !better_(next)) return false;
    best_ = std::move(next);
    return true;
  }

  // What the other loops of the dimension leave goes to this one.
  void fill(Mapping& mapping, int level, int d) const {
    Count others = 1;
    for (int i = 0; i < space_.levels(); ++i) {
      const LevelMapping& one = mapping.levels[i];
      if (__builtin_mul_overflow(others, one.spatial[d] * (i == level ? 1 : one.temporal[d]), &others)) return;
    }
    mapping.levels[level].temporal[d] = (bounds_[d] + others - 1) / others;
  }

  bool change_loops() {
    bool helped = false;
    for (const int d : space_.dimensions())
      for (int level = 0; level < space_.levels(); ++level)
        for (int other = 0; other < space_.levels(); ++other) {
          if (other == level) continue;
          const Count now = best_.levels[level].temporal[d];
          for (const Count wanted :
               {now + 1, now - 1, 2 * now, now / 2, now + 2, now - 2, 3 * now, now / 3, Count{1}}) {
            if (wanted < 1 || wanted > bounds_[d] || wanted == best_.levels[level].temporal[d]) continue;
            if (done()) return helped;
            Mapping next = best_;
            next.levels[level].temporal[d] = wanted;
            fill(next, other, d);
            helped = take(std::move(next)) || helped;
          }
        }
    return helped;
  }

  bool change_spreads() {
    bool helped = false;
    for (int level = 0; level < space_.levels(); ++level) {
      const std::vector<SpatialChoice>& choices = space_.spatial(level);
      // Wide ones stand first; rounds look at others of them.
      const std::size_t step = std::max<std::size_t>(1, choices.size() / 4 / kMostSpreadsARound);
      for (std::size_t k = static_cast<std::size_t>(round_) % step, n = 0; k < choices.size() && n < kMostSpreadsARound;
           k += step, ++n) {
        if (done()) return helped;
        Mapping next = best_;
        LevelMapping& here = next.levels[level];
        std::uint32_t iterating = 0;
        for (const int d : space_.dimensions()) {
          here.spatial[d] = choices[k].factor[d];
          if (here.spatial[d] > 1) iterating |= 1u << d;
        }
        if (here.spatial == best_.levels[level].spatial) continue;
        std::tie(here.spatial_order, here.split) = space_.full_spatial_order(level, iterating, choices[k].to_x);
        for (const int d : space_.dimensions())
          if (here.spatial[d] != best_.levels[level].spatial[d]) fill(next, space_.levels() - 1, d);
        helped = take(std::move(next)) || helped;
      }
    }
    return helped;
  }

  bool change_keeps() {
    bool helped = false;
    for (int level = 0; level < space_.levels(); ++level)
      for (const std::uint32_t keep : space_.keeps(level)) {
        if (keep == best_.levels[level].keep) continue;
        if (done()) return helped;
        Mapping next = best_;
        next.levels[level].keep = keep;
        helped = take(std::move(next)) || helped;
      }
    return helped;
  }

  bool change_orders() {
    bool helped = false;
    for (int level = 0; level < space_.levels(); ++level)
      for (const int d : space_.dimensions()) {
        const LevelMapping& here = best_.levels[level];
        if (here.temporal[d] == 1) continue;
        if (done()) return helped;
        std::vector<int> loops{d};
        for (const int other : here.temporal_order)
          if (other != d && here.temporal[other] > 1) loops.push_back(other);
        Mapping next = best_;
        next.levels[level].temporal_order = space_.full_temporal_order(level, loops);
        helped = take(std::move(next)) || helped;
      }
    return helped;
  }

  const Space& space_;
  const std::vector<Count>& bounds_;
  Mapping best_;
  const std::function<bool(const Mapping&)>& better_;
  base::Ticker& clock_;
  int tries_ = 0, round_ = 0;
};

}  // namespace

bool trim(Mapping& mapping, const std::vector<Count>& bounds) {
  for (std::size_t d = 0; d < bounds.size(); ++d) {
    Count inside = 1;
    for (LevelMapping& level : mapping.levels)
      for (const bool in_space : {true, false}) {
        Count& iterations = (in_space ? level.spatial : level.temporal)[d];
        iterations = std::min(iterations, (bounds[d] + inside - 1) / inside);
        inside *= iterations;
      }
    if (inside < bounds[d]) return false;
  }
  return complete(mapping, bounds);
}

void local_search(const Space& space, const std::vector<Count>& bounds, const Mapping& from,
                  const std::function<bool(const Mapping&)>& better, base::Ticker& clock) {
  SingleChanges(space, bounds, from, better, clock).run();
}

}  // namespace orrery::nest
