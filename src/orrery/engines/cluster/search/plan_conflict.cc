// Without a condition its knob is open, its limit infinite. A set of conditions excludes every plan or it does not;
// more conditions exclude more. First conditions are taken away one by one while the rest still excludes all: what is
// left is a set of which each is needed. Then all smaller sets are tried, from the smallest on, unless a larger one is
// known to allow a plan. Cost: a search that ends at the first plan for each set, some 1e2 of them.
#include "orrery/engines/cluster/search/plan_conflict.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace orrery::cluster {
namespace {

using Set = std::uint32_t;  // of conditions, by their places

std::vector<Condition> conditions(const Space& space, const PlanLimits& limits, base::Count most_gpus) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  using Kind = Condition::Kind;
  std::vector<Condition> all;
  if (limits.memory < kNone) all.push_back({Kind::kMemory});
  if (limits.in_use < kNone) all.push_back({Kind::kMargin});
  if (limits.cost < kNone) all.push_back({Kind::kCost});
  if (limits.seconds < kNone) all.push_back({Kind::kSeconds});
  if ((space.base.stack.lacks & ~space.waived) != 0) all.push_back({Kind::kSoftware});
  if (space.most_gpus < most_gpus) all.push_back({Kind::kAccelerators});
  for (const Knob knob : kKnobs)
    if (knob != Knob::kGlobalBatch && !space.open(knob)) all.push_back({Kind::kKnob, knob});
  return all;
}

class Tries {
 public:
  Tries(const std::vector<Condition>& all, const std::function<std::optional<bool>(Set)>& excludes)
      : all_(all), excludes_(excludes) {}

  Conflict smallest() {
    Conflict found;
    Set left = (Set{1} << all_.size()) - 1;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const Set fewer = left & ~(Set{1} << i);
      const std::optional<bool> still = asked(fewer);
      if (!still) found.smallest = false;
      if (still.value_or(false)) left = fewer;
    }
    for (int size = 0; size < std::popcount(left) && found.smallest; ++size) {
      if (const std::optional<Set> smaller = of_size(size, found.smallest)) {
        left = *smaller;
        break;
      }
    }
    for (std::size_t i = 0; i < all_.size(); ++i)
      if ((left >> i & 1) != 0) found.conditions.push_back(all_[i]);
    return found;
  }

 private:
  // The first set of so many conditions that excludes all.
  std::optional<Set> of_size(int size, bool& all_tried) {
    for (Set set = 0; set < (Set{1} << all_.size()); ++set) {
      if (std::popcount(set) != size) continue;
      const std::optional<bool> excludes = asked(set);
      if (!excludes) all_tried = false;
      if (!excludes) return std::nullopt;
      if (*excludes) return set;
    }
    return std::nullopt;
  }

  std::optional<bool> asked(Set set) {
    for (const Set known : allowing_)
      if ((set & known) == set) return false;
    const std::optional<bool> excludes = excludes_(set);
    if (excludes == false) allowing_.push_back(set);
    return excludes;
  }

  const std::vector<Condition>& all_;
  const std::function<std::optional<bool>(Set)>& excludes_;
  std::vector<Set> allowing_;
};

}  // namespace

Conflict conflict(const Model& model, const System& system, const Space& space, const Objective& objective,
                  const PlanLimits& limits, base::Count most_gpus, const machine::OperatorModel& operators,
                  const base::Budget& budget, int threads) {
  const std::vector<Condition> all = conditions(space, limits, most_gpus);
  const std::function<std::optional<bool>(Set)> excludes = [&](Set set) -> std::optional<bool> {
    Space freed = space;
    PlanLimits within = limits;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if ((set >> i & 1) != 0) continue;
      switch (all[i].kind) {
        case Condition::Kind::kKnob:
          freed.of(all[i].knob).clear();
          break;
        case Condition::Kind::kAccelerators:
          freed.most_gpus = most_gpus;
          break;
        case Condition::Kind::kMemory:
          within.memory = std::numeric_limits<double>::infinity();
          break;
        case Condition::Kind::kMargin:
          within.in_use = std::numeric_limits<double>::infinity();
          break;
        case Condition::Kind::kSoftware:
          freed.waived = freed.base.stack.lacks;
          break;
        case Condition::Kind::kCost:
          within.cost = std::numeric_limits<double>::infinity();
          break;
        case Condition::Kind::kSeconds:
          within.seconds = std::numeric_limits<double>::infinity();
          break;
      }
    }
    SearchOptions options;
    options.any = true;
    options.threads = threads;
    const Optimum found = optimize(model, system, freed, objective, within, operators, budget, options);
    if (!found.best.empty()) return false;
    if (!found.finished) return std::nullopt;
    return true;
  };
  return Tries(all, excludes).smallest();
}

}  // namespace orrery::cluster
