// Without a condition its variable is open, its limit infinite. First conditions are taken away one by one while the
// rest still excludes all: what is left is a set of which each is needed. Then all smaller sets are tried, from the
// smallest on, unless a larger one is known to allow a plan. Cost: a search that ends at the first plan for each set,
// some 1e2 of them.
#include "orrery/engines/cluster/search/plan_conflict.h"

#include <algorithm>
#include <bit>

#include "orrery/base/limits/conflict.h"

namespace orrery::cluster {
namespace {

using base::ConditionSet;

std::vector<Condition> conditions(const Space& space, const PlanLimits& limits, base::Count most_gpus) {
  using Kind = Condition::Kind;
  std::vector<Condition> all;
  if (limits.memory < kNever) all.push_back({Kind::kMemory});
  if (limits.in_use < kNever) all.push_back({Kind::kMargin});
  if (limits.cost < kNever) all.push_back({Kind::kCost});
  if (limits.seconds < kNever) all.push_back({Kind::kSeconds});
  if ((space.base.stack.lacks & ~space.waived) != 0) all.push_back({Kind::kSoftware});
  if (space.most_gpus < most_gpus) all.push_back({Kind::kAccelerators});
  for (const Variable variable : kVariables)
    if (variable != Variable::kGlobalBatch && !space.open(variable)) all.push_back({Kind::kVariable, variable});
  return all;
}

// What is free where only these conditions are insisted on.
struct Freed {
  Space space;
  PlanLimits limits;
};

void lift(const Condition& condition, base::Count most_gpus, Freed& freed) {
  switch (condition.kind) {
    case Condition::Kind::kVariable:
      freed.space.of(condition.variable).clear();
      break;
    case Condition::Kind::kAccelerators:
      freed.space.most_gpus = most_gpus;
      break;
    case Condition::Kind::kMemory:
      freed.limits.memory = kNever;
      break;
    case Condition::Kind::kMargin:
      freed.limits.in_use = kNever;
      break;
    case Condition::Kind::kSoftware:
      freed.space.waived = freed.space.base.stack.lacks;
      break;
    case Condition::Kind::kCost:
      freed.limits.cost = kNever;
      break;
    case Condition::Kind::kSeconds:
      freed.limits.seconds = kNever;
      break;
  }
}

bool within(const ConditionSet& part, const ConditionSet& whole) {
  for (std::size_t i = 0; i < part.size(); ++i)
    if (part[i] && !whole[i]) return false;
  return true;
}

// The first set of so many conditions that excludes all; `known` is cleared where a question was left open.
std::optional<ConditionSet> first_of_size(std::size_t size, std::size_t count, const base::Excludes& excludes,
                                          bool& known) {
  for (std::uint32_t bits = 0; bits < std::uint32_t{1} << count; ++bits) {
    if (static_cast<std::size_t>(std::popcount(bits)) != size) continue;
    ConditionSet set(count);
    for (std::size_t i = 0; i < count; ++i) set[i] = (bits >> i & 1) != 0;
    const std::optional<bool> excluded = excludes(set);
    known = excluded.has_value();
    if (!known) return std::nullopt;
    if (*excluded) return set;
  }
  return std::nullopt;
}

}  // namespace

Conflict conflict(const Model& model, const System& system, const Space& space, const Objective& objective,
                  const PlanLimits& limits, base::Count most_gpus, const machine::OperatorModel& operators,
                  const base::Budget& budget, int threads) {
  const std::vector<Condition> all = conditions(space, limits, most_gpus);
  std::vector<ConditionSet> allowing;
  const base::Excludes excludes = [&](const ConditionSet& set) -> std::optional<bool> {
    for (const ConditionSet& known : allowing)
      if (within(set, known)) return false;
    Freed freed{space, limits};
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!set[i]) lift(all[i], most_gpus, freed);
    SearchOptions options;
    options.any = true;
    options.threads = threads;
    const Optimum found = optimize(model, system, freed.space, objective, freed.limits, operators, budget, options);
    if (!found.best.empty()) {
      allowing.push_back(set);
      return false;
    }
    return found.finished ? std::optional(true) : std::nullopt;
  };
  base::IrreducibleConflict left = base::irreducible_conflict(all.size(), excludes);
  Conflict found{{}, left.proven};
  const auto needed = static_cast<std::size_t>(std::count(left.conditions.begin(), left.conditions.end(), true));
  for (std::size_t size = 0; size < needed && found.smallest; ++size) {
    if (std::optional<ConditionSet> smaller = first_of_size(size, all.size(), excludes, found.smallest)) {
      left.conditions = std::move(*smaller);
      break;
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    if (left.conditions[i]) found.conditions.push_back(all[i]);
  return found;
}

}  // namespace orrery::cluster
