// Steps are listed from the largest sets of loops to the smallest, each set's loops from the inside, and a branch ends
// as soon as nothing that matters can change. A step that another one can stand in for is dropped.
#include "orrery/engines/nest/search/tiles/tile_steps.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace orrery::nest::tiles {

namespace {

struct TileStepsLister {
  const Problem& problem;
  std::vector<int> inner, outer;  // dimensions with a fixed place, from the inside
  std::uint32_t free = 0;
  Step current;
  std::uint32_t running = 0;  // dataspaces that no loop so far has moved
  std::uint32_t chained = 0;  // dataspaces of which the next loop along the axis of `first` still matters
  std::vector<Step> found;
  using State = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, decltype(Step::run), decltype(Step::first),
                           decltype(Step::second)>;
  std::set<State> reached;

  void extend(std::size_t fixed, std::uint32_t unplaced, std::uint32_t placed) {
    if (!reached.insert({placed, running, chained, current.run, current.first, current.second}).second) return;
    const std::uint32_t rest =
        unplaced | bits(inner, fixed) | bits(outer, fixed < inner.size() ? 0 : fixed - inner.size());
    if (rest == 0 || (running == 0 && chained == 0)) {
      found.push_back(current);
      return;
    }
    const auto place = [&](int d, std::size_t next_fixed, std::uint32_t next_unplaced) {
      const Step saved = current;
      const std::uint32_t saved_running = running, saved_chained = chained;
      for (int s = 0; s < problem.spaces(); ++s) {
        const Dataspace& dataspace = problem.dataspaces[s];
        if (!(dataspace.relevant >> d & 1)) continue;
        if (running >> s & 1) {
          running &= ~(1u << s);
          current.run[s] = placed;
          if (dataspace.window >> d & 1) current.first[s] = static_cast<std::int8_t>(d), chained |= 1u << s;
        } else if (chained >> s & 1) {
          chained &= ~(1u << s);
          if (&dataspace.axis_of(d) == &dataspace.axis_of(current.first[s]))
            current.second[s] = static_cast<std::int8_t>(d);
        }
      }
      current.order.push_back(d);
      extend(next_fixed, next_unplaced, placed | 1u << d);
      current = saved;
      running = saved_running, chained = saved_chained;
    };
    if (fixed < inner.size()) return place(inner[fixed], fixed + 1, unplaced);
    if (unplaced != 0) {
      for (std::uint32_t left = unplaced; left != 0; left &= left - 1) {
        const int d = __builtin_ctz(left);
        place(d, fixed, unplaced & ~(1u << d));
      }
      return;
    }
    place(outer[fixed - inner.size()], fixed + 1, 0);
  }

  static std::uint32_t bits(const std::vector<int>& dimensions, std::size_t from) {
    std::uint32_t mask = 0;
    for (std::size_t k = from; k < dimensions.size(); ++k) mask |= 1u << dimensions[k];
    return mask;
  }
};

}  // namespace

bool stands_in(const Step& b, const Step& a, std::uint32_t dataspaces) {
  if ((b.unit & ~a.unit) != 0 || (a.open & ~b.open & dataspaces) != 0) return false;
  for (std::uint32_t rest = dataspaces & ~b.open; rest != 0; rest &= rest - 1) {
    const int s = __builtin_ctz(rest);
    if ((a.run[s] & ~b.run[s] & ~a.unit) != 0) return false;
    if (a.first[s] >= 0 && a.first[s] != b.first[s]) return false;
    if (a.second[s] >= 0 && a.second[s] != b.second[s]) return false;
  }
  return true;
}

std::vector<Step> list_steps(const Problem& problem, const Space& space, int level) {
  std::uint32_t may = 0, must = 0;
  for (int d = 0; d < problem.dimensions(); ++d) {
    const std::vector<Count>& allowed = space.temporal(level, problem.dimension[d]);
    if (allowed.empty() || allowed.back() > 1) may |= 1u << d;
    if (!allowed.empty() && allowed.front() > 1) must |= 1u << d;
  }
  const auto compact = [&](const std::vector<int>& dimensions, std::uint32_t mask) {
    std::vector<int> result;
    for (const int original : dimensions)
      for (int d = 0; d < problem.dimensions(); ++d)
        if (problem.dimension[d] == original && (mask >> d & 1)) result.push_back(d);
    return result;
  };
  std::vector<std::uint32_t> masks;
  for (std::uint32_t mask = may;; mask = (mask - 1) & may) {
    if (mask != 0 && (mask & must) == must) masks.push_back(mask);
    if (mask == 0) break;
  }
  std::stable_sort(masks.begin(), masks.end(),
                   [](std::uint32_t a, std::uint32_t b) { return __builtin_popcount(a) > __builtin_popcount(b); });
  const std::uint32_t all = (1u << problem.dimensions()) - 1;
  const std::uint32_t every = (1u << problem.spaces()) - 1;
  std::vector<Step> kept;
  for (const std::uint32_t mask : masks) {
    TileStepsLister lister{problem,
                           compact(space.fixed_inside(level), mask),
                           compact(space.fixed_outside(level), mask),
                           mask,
                           {},
                           0,
                           0,
                           {},
                           {}};
    lister.free &= ~TileStepsLister::bits(lister.inner, 0) & ~TileStepsLister::bits(lister.outer, 0);
    lister.current.first.fill(-1);
    lister.current.second.fill(-1);
    lister.current.unit = all & ~mask;
    for (int s = 0; s < problem.spaces(); ++s)
      (problem.dataspaces[s].relevant & mask ? lister.running : lister.current.open) |= 1u << s;
    lister.extend(0, lister.free, 0);
    for (Step& step : lister.found) {
      for (int s = 0; s < problem.spaces(); ++s) {
        if (step.open >> s & 1) continue;
        step.named |= step.run[s];
        if (step.first[s] >= 0) step.named |= 1u << step.first[s];
        if (step.second[s] >= 0) step.named |= 1u << step.second[s];
      }
      if (std::any_of(kept.begin(), kept.end(), [&](const Step& other) { return stands_in(other, step, every); }))
        continue;
      std::erase_if(kept, [&](const Step& other) { return stands_in(step, other, every); });
      kept.push_back(std::move(step));
    }
  }
  return kept;
}

}  // namespace orrery::nest::tiles
