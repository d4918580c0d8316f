// Windows that slide over tiles of which the last is smaller.
//
// The tile of an instance is the box of what its step needs (imperfect_traffic.cc), and a step brings what the box
// newly covers, by the rules of sliding.cc: nothing where it stays, the new words where it differs along one axis from
// what is held and moves as it did before, the whole box otherwise. Two things are new. A box may be smaller than the
// one before; what it newly covers is counted as it is, and taken for the whole box where that would fall into two
// pieces. And instances differ: in each dimension one is *inside* (all loops further in run in full), at the *edge*
// (every loop outside is in its last round) or *idle* (there is nothing left for it). An instance that a dimension of
// the tile leaves idle forgets its box; one that another dimension leaves idle keeps it.
//
// Instances that will always be in the same of these three states form a class: their digits in space, split at the
// last one of the last round. All of a class hold boxes of one shape, at one distance from where each of them stands.
// So the walk over the loops in time carries one state a class. A loop is again seen through few of its iterations:
// those before its last round are alike, and once the state that an iteration leaves repeats, so do the words; what
// follows the loop sees, as with perfect factors, what iteration 1 has left. What a subtree brings is worked out once
// for each state in which it is entered.
//
// What a step brings is a list of boxes, one or none a class (a pattern). Instances of a level below one of the next
// whose wishes coincide are served once; a level that keeps nothing passes on what it is asked for. Whether two
// coincide is known by class and distance, so that no more instances are listed than one fan-out has, times classes.
//
// Cost: loops times classes times the states met, a handful; for each pattern, classes times the fan-out of each level.
#include "orrery/engines/nest/model/imperfect_windows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/engines/nest/model/boxes.h"

namespace orrery::nest {

using base::Count;

namespace {

constexpr std::size_t kMostClasses = std::size_t{1} << 12;
constexpr Count kMostSpread = Count{1} << 18;

enum class Place : std::uint8_t { kInside, kEdge, kIdle };

struct Digits {  // from `first` to before `end`
  Count first, end;
};

struct SpaceLoop {
  int level, dimension;
  Count iterations, last;
  Position step;
  std::vector<Digits> classes;
};

struct TimeLoop {
  int level, dimension;
  Count iterations, last;
  Position step;
};

struct Box {
  Position origin{}, sides{};  // the origin from where the instance stands
  auto operator<=>(const Box&) const = default;
};

struct ImperfectState {
  bool filled = false;
  Box held;
  bool sliding = false;
  Position slide{};
  bool operator==(const ImperfectState&) const = default;
};
using States = std::vector<ImperfectState>;

void move(ImperfectState& state, const Position& step, Count times) {
  if (!state.filled) return;
  for (std::size_t r = 0; r < step.size(); ++r) state.held.origin[r] += times * step[r];
}

// What `now` covers that `before` does not, if that is one box along one axis; all of it otherwise.
std::optional<Box> newly_covered(std::size_t ranks, const Box& before, const Box& now) {
  std::size_t axis = ranks;
  for (std::size_t r = 0; r < ranks; ++r) {
    if (now.origin[r] >= before.origin[r] + before.sides[r] || before.origin[r] >= now.origin[r] + now.sides[r])
      return now;
    if (now.origin[r] == before.origin[r] && now.sides[r] == before.sides[r]) continue;
    if (axis != ranks) return now;
    axis = r;
  }
  if (axis == ranks) return std::nullopt;
  const Count low = now.origin[axis], high = low + now.sides[axis];
  const Count from = before.origin[axis], to = from + before.sides[axis];
  if (low >= from && high <= to) return std::nullopt;
  if (low < from && high > to) return now;
  Box fresh = now;
  if (low < from) {
    fresh.sides[axis] = from - low;
  } else {
    fresh.origin[axis] = to;
    fresh.sides[axis] = high - to;
  }
  return fresh;
}

// What a step to the box `now` brings.
std::optional<Box> bring(std::size_t ranks, const Box& now, ImperfectState& state) {
  const ImperfectState before = state;
  state.filled = true;
  state.held = now;
  if (!before.filled) return now;
  Position moved{};
  for (std::size_t r = 0; r < ranks; ++r) moved[r] = now.origin[r] - before.held.origin[r];
  if (moved != Position{}) {
    state.sliding = !before.sliding || moved == before.slide;
    state.slide = state.sliding ? moved : Position{};
    if (!state.sliding) return now;
  }
  return newly_covered(ranks, before.held, now);
}

// The boundary between the instances of level `inner` (-1: compute units) and whoever serves them.
class Boundary {
 public:
  Boundary(Ranks ranks, const Mapping& mapping, int inner, std::uint32_t relevant, bool every_step, std::uint32_t alone)
      : ranks_(ranks),
        inner_(inner),
        levels_(static_cast<int>(mapping.levels.size())),
        relevant_(relevant),
        every_step_(every_step),
        alone_(alone) {
    list(mapping);
    States states(classes_);
    std::vector<Place> places(classes_ * kMaxDimensions, Place::kInside);
    for (std::size_t c = 0; c < classes_; ++c)
      for (int d = 0; d < kMaxDimensions; ++d)
        if (tracked_ >> d & 1) places[c * kMaxDimensions + d] = Place::kEdge;
    for (const auto& [pattern, steps] : visit(0, levels_ - 1, places, states).steps) steps_[pattern] += steps;
  }

  // Words that each class of instances of `level` passes on, those wanted by several instances below it once.
  struct Passed {
    double all = 0;   // of all instances
    double most = 0;  // of one
  };
  Passed passed(int level) const {
    std::size_t classes = 1;
    for (const SpaceLoop& loop : spread_)
      if (loop.level > level) classes *= loop.classes.size();
    std::vector<double> words(classes, 0);
    for (const auto& [pattern, steps] : steps_) {
      const std::vector<Wish> wishes = gather(patterns_[pattern], level);
      for (std::size_t c = 0; c < classes; ++c) words[c] += steps * wishes[c].words;
    }
    Passed result;
    for (std::size_t c = 0; c < classes; ++c) {
      double instances = 1;
      std::size_t rest = c;
      for (std::size_t k = spread_.size(); k-- > 0;) {
        const SpaceLoop& loop = spread_[k];
        if (loop.level <= level) continue;
        const Digits& digits = loop.classes[rest % loop.classes.size()];
        rest /= loop.classes.size();
        instances *= static_cast<double>(digits.end - digits.first);
      }
      result.all += instances * words[c];
      result.most = std::max(result.most, words[c]);
    }
    return result;
  }

 private:
  using Pattern = std::vector<int>;  // for each class, which box its instances want; -1: none
  struct Outcome {
    std::vector<std::pair<int, double>> steps;  // patterns, and at how many steps
    States left;
    std::vector<char> touched;  // classes that had anything to do
  };
  struct Wish {
    int what = -1;  // tells lists of boxes apart, seen from where the instance stands; -1: nothing
    double words = 0;
  };

  void list(const Mapping& mapping) {
    Extents stride;
    stride.fill(1);
    full_ = reach_ = stride;
    std::uint32_t imperfect = 0;  // dimensions of which a loop so far leaves a remainder
    for (int i = 0; i < levels_; ++i)
      for (const bool in_space : {true, false}) {
        const LevelMapping& level = mapping.levels[i];
        const std::uint32_t imperfect_inside = imperfect;
        for (std::size_t at = 0; at < level.temporal.size(); ++at) {
          const int d = in_space ? static_cast<int>(at) : level.temporal_order[at];
          const Factor factor = level.factor(in_space, d);
          if (!factor.perfect()) imperfect |= 1u << d;
          if (i > inner_ && factor.iterations > 1) {
            const Position step = step_of(ranks_, d, stride[d]);
            if (in_space)
              spread_.push_back(
                  {i, d, factor.iterations, factor.last, step, digits(factor, imperfect_inside >> d & 1)});
            else
              loops_.push_back({i, d, factor.iterations, factor.last, step});
          }
          if (i <= inner_) {
            reach_[d] += (factor.last - 1) * stride[d];
            full_[d] *= factor.iterations;
          }
          stride[d] *= factor.iterations;
        }
      }
    tracked_ = imperfect;
    std::reverse(loops_.begin(), loops_.end());
    std::reverse(spread_.begin(), spread_.end());
    for (const SpaceLoop& loop : spread_) {
      classes_ *= loop.classes.size();
      if (classes_ > kMostClasses)
        base::fail("O1010",
                   "the model supports at most 4096 kinds of instances that factors with a remainder tell apart "
                   "where windows slide");
    }
    known_.resize(loops_.size());
  }

  static std::vector<Digits> digits(const Factor& factor, bool rest_inside) {
    std::vector<Digits> classes;
    const auto add = [&](Count first, Count end) {
      if (first < end) classes.push_back({first, end});
    };
    if (rest_inside) add(0, factor.last - 1);
    add(rest_inside ? factor.last - 1 : 0, factor.last);
    add(factor.last, factor.iterations);
    return classes;
  }

  static Place next(Place outside, Count index, Count last) {
    if (outside != Place::kEdge) return outside;
    return index + 1 < last ? Place::kInside : index + 1 == last ? Place::kEdge : Place::kIdle;
  }

  // Where the classes stand inside the fan-outs of the levels from `level` down to above `end`.
  void enter_space(int level, int end, std::vector<Place>& places) const {
    std::size_t inside = classes_;
    for (const SpaceLoop& loop : spread_) {
      inside /= loop.classes.size();
      if (loop.level > level || loop.level <= end || !(tracked_ >> loop.dimension & 1)) continue;
      for (std::size_t c = 0; c < classes_; ++c) {
        Place& place = places[c * kMaxDimensions + static_cast<std::size_t>(loop.dimension)];
        place = next(place, loop.classes[c / inside % loop.classes.size()].first, loop.last);
      }
    }
  }

  // All loops from the `at`-th on. `level`: the fan-outs up to this one are still to be entered.
  Outcome visit(std::size_t at, int level, std::vector<Place> places, const States& states) {
    enter_space(level, at == loops_.size() ? inner_ : loops_[at].level, places);
    if (at == loops_.size()) return arrive(places, states);
    const TimeLoop& loop = loops_[at];
    std::vector<Count> key;
    for (const Place place : places) key.push_back(static_cast<Count>(place));
    if (!every_step_)
      for (const ImperfectState& state : states) {
        key.push_back(state.filled ? 1 : 0);
        key.push_back(state.sliding ? 1 : 0);
        for (std::size_t r = 0; r < ranks_.size(); ++r)
          key.insert(key.end(), {state.held.origin[r], state.held.sides[r], state.slide[r]});
      }
    if (const auto found = known_[at].find(key); found != known_[at].end()) return found->second;

    const std::size_t d = static_cast<std::size_t>(loop.dimension);
    bool rest = false;
    for (std::size_t c = 0; c < classes_; ++c) rest = rest || places[c * kMaxDimensions + d] == Place::kEdge;
    // The first instance, of the first class, runs longest.
    const Count iterations = places[d] == Place::kEdge ? loop.last : loop.iterations;
    Outcome outcome;
    outcome.touched.assign(classes_, 0);
    States now = states;  // as the next iteration sees it
    std::map<int, double> steps;
    for (Count first = 0; first < iterations;) {
      const Count end = !rest || first >= loop.last ? iterations : first + 1 < loop.last ? loop.last - 1 : loop.last;
      std::vector<Place> here = places;
      for (std::size_t c = 0; c < classes_; ++c)
        here[c * kMaxDimensions + d] = next(here[c * kMaxDimensions + d], first, loop.last);
      std::vector<Outcome> alike;
      for (Count k = first; k < end; ++k) {
        alike.push_back(visit(at + 1, loop.level, here, now));
        const Outcome& last = alike.back();
        for (const auto& [pattern, times] : last.steps) steps[pattern] += times;
        for (std::size_t c = 0; c < classes_; ++c) outcome.touched[c] = outcome.touched[c] || last.touched[c];
        if (k == std::min<Count>(1, iterations - 1)) {
          outcome.left = last.left;
          for (ImperfectState& state : outcome.left) move(state, loop.step, k);
        }
        now = last.left;
        Count skipped = 0;
        if (const std::size_t period = repeats(alike); period > 0) {
          skipped = end - 1 - k;
          for (std::size_t p = 0; p < period; ++p) {
            const Outcome& again = alike[alike.size() - period + p];
            const Count left = skipped - static_cast<Count>(p);
            const Count times = left <= 0 ? 0 : (left - 1) / static_cast<Count>(period) + 1;
            for (const auto& [pattern, count] : again.steps) steps[pattern] += static_cast<double>(times) * count;
          }
          if (skipped > 0) {
            const Outcome& final =
                alike[alike.size() - period + static_cast<std::size_t>((skipped - 1) % static_cast<Count>(period))];
            for (std::size_t c = 0; c < classes_; ++c) {
              if (last.touched[c])
                now[c] = final.left[c];
              else
                move(now[c], loop.step, -skipped);
            }
          }
        }
        for (ImperfectState& state : now) move(state, loop.step, -1);
        k += skipped;
      }
      first = end;
    }
    outcome.steps.assign(steps.begin(), steps.end());
    return known_[at].emplace(std::move(key), std::move(outcome)).first->second;
  }

  // After how many iterations what they leave repeats; 0 where it does not.
  static std::size_t repeats(const std::vector<Outcome>& alike) {
    const Outcome& last = alike.back();
    for (std::size_t period = 1; period < alike.size() && period <= 4; ++period) {
      const Outcome& before = alike[alike.size() - 1 - period];
      bool same = true;
      for (std::size_t c = 0; c < last.left.size() && same; ++c)
        same = !last.touched[c] || last.left[c] == before.left[c];
      if (same) return period;
    }
    return 0;
  }

  // Nothing is left to choose but what each class needs.
  Outcome arrive(const std::vector<Place>& places, const States& states) {
    Outcome outcome;
    outcome.left = states;
    outcome.touched.assign(classes_, 1);
    Pattern pattern(classes_, -1);
    bool any = false;
    for (std::size_t c = 0; c < classes_; ++c) {
      Extents extents = full_;
      bool empty = false, idle = false;
      for (std::uint32_t rest = tracked_; rest != 0; rest &= rest - 1) {
        const int d = __builtin_ctz(rest);
        const Place place = places[c * kMaxDimensions + static_cast<std::size_t>(d)];
        if (place == Place::kEdge) extents[d] = reach_[d];
        if (place == Place::kIdle) (relevant_ >> d & 1 ? empty : idle) = true;
      }
      if (idle) {
        outcome.touched[c] = 0;
        continue;
      }
      if (empty) {
        outcome.left[c] = {};
        continue;
      }
      const Box now{{}, sides_of(ranks_, extents)};
      const std::optional<Box> brought = every_step_ ? now : bring(ranks_.size(), now, outcome.left[c]);
      if (!brought) continue;
      const auto [found, fresh] = box_index_.try_emplace(*brought, static_cast<int>(boxes_.size()));
      if (fresh) boxes_.push_back(*brought);
      pattern[c] = found->second;
      any = true;
    }
    if (any) {
      const auto [found, fresh] = pattern_index_.try_emplace(pattern, static_cast<int>(patterns_.size()));
      if (fresh) patterns_.push_back(pattern);
      outcome.steps.emplace_back(found->second, 1);
    }
    return outcome;
  }

  // What each class of instances of `level` asks for when those of the boundary want this.
  std::vector<Wish> gather(const Pattern& pattern, int level) const {
    std::vector<Wish> wishes(classes_);
    for (std::size_t c = 0; c < classes_; ++c)
      if (pattern[c] >= 0)
        wishes[c] = {pattern[c], static_cast<double>(volume(ranks_.size(), boxes_[pattern[c]].sides))};
    std::size_t loops = spread_.size();
    for (int i = inner_ + 1; i <= level; ++i) {
      std::size_t first = loops;  // the loops of S_i, the innermost last
      while (first > 0 && spread_[first - 1].level == i) --first;
      std::size_t inside = 1;
      for (std::size_t k = first; k < loops; ++k) inside *= spread_[k].classes.size();
      std::vector<Wish> outer(wishes.size() / inside);
      std::map<std::vector<Count>, int> lists;
      for (std::size_t o = 0; o < outer.size(); ++o) {
        std::vector<std::pair<Position, int>> wanted;
        for (std::size_t c = 0; c < inside; ++c) add_all(first, loops, c, wishes[o * inside + c], wanted);
        std::sort(wanted.begin(), wanted.end());
        if (!(alone_ >> i & 1)) wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
        if (wanted.empty()) continue;
        std::vector<Count> list;
        for (const auto& [where, what] : wanted) {
          for (const Wish* wish = &wishes[o * inside]; wish != &wishes[o * inside] + inside; ++wish)
            if (wish->what == what) {
              outer[o].words += wish->words;
              break;
            }
          list.push_back(what);
          list.insert(list.end(), where.begin(), where.begin() + static_cast<std::ptrdiff_t>(ranks_.size()));
        }
        outer[o].what = lists.try_emplace(std::move(list), static_cast<int>(lists.size())).first->second;
      }
      wishes = std::move(outer);
      loops = first;
    }
    return wishes;
  }

  // The instances of one class below one of the next level, each with what it wants.
  void add_all(std::size_t first, std::size_t end, std::size_t which, const Wish& wish,
               std::vector<std::pair<Position, int>>& wanted) const {
    if (wish.what < 0) return;
    std::vector<Position> where{Position{}};
    for (std::size_t k = end; k-- > first;) {
      const SpaceLoop& loop = spread_[k];
      const Digits& digits = loop.classes[which % loop.classes.size()];
      which /= loop.classes.size();
      if (digits.end - digits.first > kMostSpread / static_cast<Count>(where.size()))
        base::fail("O1010",
                   "the model supports at most 262144 instances of one kind over one fan-out, of a dataspace that "
                   "slides over factors with a remainder");
      std::vector<Position> longer;
      for (Count index = digits.first; index < digits.end; ++index)
        for (Position moved : where) {
          for (std::size_t r = 0; r < ranks_.size(); ++r) moved[r] += index * loop.step[r];
          longer.push_back(moved);
        }
      where = std::move(longer);
    }
    for (const Position& at : where) wanted.emplace_back(at, wish.what);
  }

  const Ranks ranks_;
  const int inner_, levels_;
  const std::uint32_t relevant_;
  const bool every_step_;
  const std::uint32_t alone_;
  Extents full_, reach_;           // iterations that a tile spans inside and at the edge
  std::uint32_t tracked_ = 0;      // dimensions of which some loop leaves a remainder
  std::vector<TimeLoop> loops_;    // outermost first
  std::vector<SpaceLoop> spread_;  // outermost first
  std::size_t classes_ = 1;
  std::vector<std::map<std::vector<Count>, Outcome>> known_;
  std::map<Box, int> box_index_;
  std::vector<Box> boxes_;
  std::map<Pattern, int> pattern_index_;
  std::vector<Pattern> patterns_;
  std::map<int, double> steps_;
};

}  // namespace

void imperfect_windows(const Shape& shape, const Mapping& mapping, const std::vector<ReuseRules>& reuse, int s,
                       bool destinations, ImperfectTraffic& out) {
  const int levels = static_cast<int>(mapping.levels.size());
  const Ranks ranks = shape.moving[s];
  if (ranks.size() > kMaxRanks)
    base::fail("O1010", "the model supports 16 ranks per dataspace that move; one has " + std::to_string(ranks.size()));
  std::uint32_t alone = 0;
  for (int i = 0; i < levels && !reuse.empty(); ++i) alone |= (reuse[i].no_spatial_sharing >> s & 1) << i;
  int outermost = -1;
  for (int i = 0; i < levels; ++i) {
    if (mapping.levels[i].keep >> s & 1) outermost = i;
    for (Flows<double>* flows : {&out.mean, &out.busiest}) flows->content[i][s] = flows->share[i][s] = 0;
  }
  int inner = -1;  // the keeper inside, or the compute units
  for (int i = 0; i <= outermost;) {
    const bool every_step = inner < 0 || (!reuse.empty() && (reuse[inner].no_temporal_reuse >> s & 1));
    const Boundary boundary(ranks, mapping, inner, shape.relevant[s], every_step, alone);
    if (inner >= 0) {
      const Boundary::Passed passed = boundary.passed(inner);
      out.mean.share[inner][s] = passed.all / static_cast<double>(out.instances[inner]);
      out.busiest.share[inner][s] = passed.most;
    }
    double below = destinations ? boundary.passed(inner).all : 0;
    for (bool kept = false; !kept; ++i) {
      const Boundary::Passed passed = boundary.passed(i);
      out.mean.content[i][s] = passed.all / static_cast<double>(out.instances[i]);
      out.busiest.content[i][s] = passed.most;
      if (destinations) out.destinations[i][s] = below / passed.all;
      below = passed.all;
      kept = mapping.levels[i].keep >> s & 1;
      if (kept) inner = i;
    }
  }
}

}  // namespace orrery::nest
