// Deletion filter: start from everything that restricts the space (the user's constraints, each storage's
// capacity, each fan-out) and drop one restriction after the other for as long as the space stays empty.
// What is left is irreducible, unless the budget was spent first: then it may contain more than needed. Each step is
// one feasibility walk (feasibility.h). Source: Chinneck, "Feasibility and Infeasibility in Optimization", 2008,
// section 6.1 (deletion filtering).
#include "orrery/engines/nest/space/explain.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "orrery/engines/nest/space/feasibility.h"

namespace orrery::nest {

using base::Count;

namespace {

struct Restrictions {
  std::vector<bool> constraint;
  HardwareLimits limits;
};

Mapspace restricted(const Mapspace& mapspace, const Restrictions& kept) {
  Mapspace space;
  space.reuse = mapspace.reuse;
  for (std::size_t k = 0; k < mapspace.constraints.size(); ++k)
    if (kept.constraint[k]) space.constraints.push_back(mapspace.constraints[k]);
  return space;
}

std::string describe(const Constraint& constraint, const workload::Einsum& einsum, const machine::Chip& chip) {
  const std::string& level = chip.storages[constraint.level].name;
  switch (constraint.kind) {
    case Constraint::Kind::kFactor: {
      const char* sign = constraint.comparison == Comparison::kEqual    ? "="
                         : constraint.comparison == Comparison::kAtMost ? "<="
                                                                        : ">=";
      return fmt::format("`{}{}{}` ({}) at {}", einsum.dimensions[constraint.dimension].name, sign, constraint.value,
                         constraint.spatial ? "spatial" : "temporal", level);
    }
    case Constraint::Kind::kKeep:
      return fmt::format("{} {} {}", level, constraint.keep ? "must keep" : "must bypass",
                         einsum.dataspaces[constraint.dataspace].name);
    case Constraint::Kind::kOrder:
      return fmt::format("the {} loop order at {}", constraint.spatial ? "spatial" : "temporal", level);
    case Constraint::Kind::kSplit:
      return fmt::format("split {} at {}", constraint.value, level);
    case Constraint::Kind::kMinParallelism:
      return fmt::format("at least {:g} of the fan-out of {} in use", constraint.fraction, level);
  }
  return level;
}

// "Weights 1024 x 1024 = 1048576"
std::string tile_text(const workload::Einsum& einsum, int s, const std::vector<Count>& extents) {
  std::string factors;
  for (const workload::Rank& rank : einsum.dataspaces[s].ranks)
    for (const workload::Term& term : rank.terms)
      if (extents[term.dimension] > 1)
        factors += fmt::format("{}{} {}", factors.empty() ? "" : " x ", einsum.dimensions[term.dimension].name,
                               extents[term.dimension]);
  return fmt::format("{} {} = {}", einsum.dataspaces[s].name, factors.empty() ? "1" : factors,
                     einsum.volume(s, extents));
}

}  // namespace

void explain_empty(const Model& model, const Mapspace& mapspace, const base::Budget& budget, Optimum& optimum) {
  const workload::Einsum& einsum = model.einsum();
  const machine::Chip& chip = model.chip();
  const int levels = static_cast<int>(chip.storages.size());
  Restrictions kept{std::vector<bool>(mapspace.constraints.size(), true),
                    {std::vector<bool>(levels, true), std::vector<bool>(levels, true)}};
  const auto space_of = [&](const Restrictions& restrictions) {
    return Space(einsum, chip, restricted(mapspace, restrictions), model.shape(), restrictions.limits, budget);
  };
  // A restriction is kept unless the space is known to be empty without it.
  const auto empty = [&](const Restrictions& restrictions) {
    return feasible(einsum, space_of(restrictions), budget) == Feasible::kNo;
  };
  const auto try_without = [&](auto set) {
    if (budget.spent()) return;
    Restrictions fewer = kept;
    set(fewer, false);
    if (empty(fewer)) kept = fewer;
  };
  // Restrictions that the reader implied are tried first, the user's own lines last, so that the explanation names
  // lines that can be changed.
  for (int level = levels - 1; level >= 0; --level) {
    // A level that feeds one instance is no restriction that a user would lift.
    if (chip.fanout_x(level) * chip.fanout_y(level) > 1)
      try_without([&](Restrictions& r, bool on) { r.limits.fanout[level] = on; });
    if (chip.storages[level].capacity_words)
      try_without([&](Restrictions& r, bool on) { r.limits.capacity[level] = on; });
  }
  for (int kind = 4; kind >= 0; --kind)
    for (std::size_t k = 0; k < mapspace.constraints.size(); ++k)
      if (static_cast<int>(mapspace.constraints[k].kind) == kind)
        try_without([&](Restrictions& r, bool on) { r.constraint[k] = on; });
  if (budget.spent())
    optimum.arithmetic.push_back(
        "a limit ended the search for the smallest set: some of these may not be needed for the contradiction");

  for (std::size_t k = 0; k < mapspace.constraints.size(); ++k)
    if (kept.constraint[k])
      optimum.conflicts.push_back({describe(mapspace.constraints[k], einsum, chip), mapspace.constraints[k].where,
                                   static_cast<int>(k), -1, -1});
  for (int level = 0; level < levels; ++level) {
    const machine::Storage& storage = chip.storages[level];
    if (kept.limits.capacity[level] && storage.capacity_words) {
      optimum.conflicts.push_back({fmt::format("{} holds {} words", storage.name, *chip.usable_words(level)),
                                   storage.capacity_where.known() ? storage.capacity_where : storage.where, -1, level,
                                   -1});
      Restrictions lifted = kept;
      lifted.limits.capacity[level] = false;
      if (const auto least = least_use(einsum, space_of(lifted), level, budget)) {
        std::string parts;
        for (std::size_t s = 0; s < einsum.dataspaces.size(); ++s)
          if (least->keep >> s & 1)
            parts +=
                fmt::format("{}{}", parts.empty() ? "" : "; ", tile_text(einsum, static_cast<int>(s), least->extents));
        optimum.arithmetic.push_back(
            fmt::format("{} holds {} words; with these constraints it must keep at least {}: {}", storage.name,
                        *chip.usable_words(level), least->words, parts));
      }
    }
    const Count x = chip.fanout_x(level), y = chip.fanout_y(level);
    if (kept.limits.fanout[level] && x * y > 1) {
      optimum.conflicts.push_back({fmt::format("{} feeds {} instances (X {} x Y {})", storage.name, x * y, x, y),
                                   storage.where, -1, -1, level});
    }
  }
  // Per dimension: what the remaining factor constraints demand and allow.
  for (std::size_t d = 0; d < einsum.dimensions.size(); ++d) {
    Count demanded = 1;
    std::string factors, ceilings;
    bool any = false;
    for (std::size_t k = 0; k < mapspace.constraints.size(); ++k) {
      const Constraint& constraint = mapspace.constraints[k];
      if (!kept.constraint[k] || constraint.kind != Constraint::Kind::kFactor ||
          constraint.dimension != static_cast<int>(d))
        continue;
      any = true;
      if (constraint.comparison == Comparison::kAtMost) {
        ceilings += fmt::format("{}{} at {}", ceilings.empty() ? "" : ", ", constraint.value,
                                chip.storages[constraint.level].name);
        continue;
      }
      if (constraint.value == 1) continue;
      demanded *= constraint.value;
      factors += fmt::format("{}{} ({})", factors.empty() ? "" : " x ", constraint.value,
                             chip.storages[constraint.level].name);
    }
    if (!any) continue;
    const Count bound = einsum.dimensions[d].bound;
    const std::string& name = einsum.dimensions[d].name;
    if (!factors.empty() && bound % demanded != 0) {
      optimum.arithmetic.push_back(
          fmt::format("{} = {} cannot be divided by {} = {} without remainder; only whole factors are searched", name,
                      bound, factors, demanded));
      if (bound < std::numeric_limits<Count>::max() - demanded)
        optimum.ways_out.push_back(fmt::format(
            "round {} up to {}, the next multiple of {}, with `--factors padded`, or take a chip without this factor",
            name, (bound / demanded + 1) * demanded, demanded));
    } else if (!factors.empty() || !ceilings.empty())
      optimum.arithmetic.push_back(fmt::format("{} = {} needs factors that multiply to {}; {}{}{}", name, bound, bound,
                                               factors.empty() ? "" : "fixed or at least " + factors,
                                               factors.empty() || ceilings.empty() ? "" : "; ",
                                               ceilings.empty() ? "" : "at most " + ceilings));
  }
  for (std::size_t s = 0; s < einsum.dataspaces.size(); ++s) {
    const auto bypasses =
        std::count_if(mapspace.constraints.begin(), mapspace.constraints.end(), [&](const Constraint& constraint) {
          return constraint.kind == Constraint::Kind::kKeep && !constraint.keep &&
                 constraint.dataspace == static_cast<int>(s);
        });
    if (bypasses >= levels)
      optimum.arithmetic.push_back(
          fmt::format("{} is bypassed at all {} levels: no level keeps it", einsum.dataspaces[s].name, levels));
  }
}

}  // namespace orrery::nest
