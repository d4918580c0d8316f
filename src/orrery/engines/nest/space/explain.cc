// Deletion filter: start from everything that restricts the space (the user's constraints, each storage's
// capacity, each fan-out) and drop one restriction after the other for as long as the space stays empty.
// What is left is irreducible, unless the budget was spent first: then it may contain more than needed. Each step is
// one feasibility walk (feasibility.h), but where the factors of one dimension contradict each other no step needs any.
// Source: Chinneck, "Feasibility and Infeasibility in Optimization", 2008, section 6.1 (deletion filtering).
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
std::string tile_text(const workload::Einsum& einsum, int s, const std::vector<Count>& extents, Count units) {
  std::string factors;
  for (const workload::Rank& rank : einsum.dataspaces[s].ranks)
    for (const workload::Term& term : rank.terms)
      if (extents[term.dimension] > 1)
        factors += fmt::format("{}{} {}", factors.empty() ? "" : " x ", einsum.dimensions[term.dimension].name,
                               extents[term.dimension]);
  const std::string each = units == 1 ? "" : fmt::format(" x {}", units);
  return fmt::format("{} {}{} = {}", einsum.dataspaces[s].name, factors.empty() ? "1" : factors, each,
                     units * einsum.volume(s, extents));
}

// Finds the smallest set of restrictions that leaves nothing, and says what they are and what does not work out.
class Explanation {
 public:
  Explanation(const Model& model, const Mapspace& mapspace, const base::Budget& budget, Optimum& optimum)
      : model_(model),
        einsum_(model.einsum()),
        chip_(model.chip()),
        mapspace_(mapspace),
        budget_(budget),
        optimum_(optimum),
        levels_(static_cast<int>(chip_.storages.size())),
        kept_{std::vector<bool>(mapspace.constraints.size(), true),
              {std::vector<bool>(levels_, true), std::vector<bool>(levels_, true)}} {}

  void run() {
    drop_what_is_not_needed();
    name_constraints();
    for (int level = 0; level < levels_; ++level) name_hardware(level);
    for (std::size_t d = 0; d < einsum_.dimensions.size(); ++d) explain_factors(d);
    for (std::size_t s = 0; s < einsum_.dataspaces.size(); ++s) explain_bypasses(s);
  }

 private:
  Space space_of(const Restrictions& restrictions) const {
    return Space(einsum_, chip_, restricted(mapspace_, restrictions), model_.shape(), restrictions.limits, budget_);
  }

  // Whether factors cannot multiply to some dimension's bound, whatever the hardware (but for levels that feed one
  // instance) and the other dimensions.
  bool contradictory(const Restrictions& factors) const {
    for (std::size_t d = 0; d < einsum_.dimensions.size(); ++d) {
      workload::Einsum one = einsum_;
      Restrictions own = factors;
      for (std::size_t other = 0; other < one.dimensions.size(); ++other)
        if (other != d) one.dimensions[other].bound = 1;
      for (std::size_t k = 0; k < mapspace_.constraints.size(); ++k)
        if (mapspace_.constraints[k].dimension != static_cast<int>(d)) own.constraint[k] = false;
      if (!Space(one, chip_, restricted(mapspace_, own), shape_of(one), own.limits).possible()) return true;
    }
    return false;
  }

  // A restriction is kept unless the space is known to be empty without it.
  template <typename Set>
  void try_without(const Set& set) {
    if (budget_.spent()) return;
    Restrictions fewer = kept_;
    set(fewer, false);
    if (factors_alone_ ? contradictory(fewer) : feasible(einsum_, space_of(fewer), budget_) == Feasible::kNo)
      kept_ = fewer;
  }

  void drop_what_is_not_needed() {
    Restrictions factors = kept_;
    for (int level = 0; level < levels_; ++level)
      factors.limits.fanout[level] = chip_.fanout_x(level) * chip_.fanout_y(level) == 1;
    factors.limits.capacity.assign(levels_, false);
    for (std::size_t k = 0; k < mapspace_.constraints.size(); ++k)
      if (mapspace_.constraints[k].kind != Constraint::Kind::kFactor) factors.constraint[k] = false;
    factors_alone_ = contradictory(factors);
    if (factors_alone_) kept_ = factors;
    // Restrictions that the reader implied are tried first, the user's own lines last, so that the explanation names
    // lines that can be changed.
    for (int level = levels_ - 1; level >= 0; --level) {
      // A level that feeds one instance is no restriction that a user would lift.
      if (chip_.fanout_x(level) * chip_.fanout_y(level) > 1)
        try_without([&](Restrictions& r, bool on) { r.limits.fanout[level] = on; });
      if (chip_.storages[level].capacity_words)
        try_without([&](Restrictions& r, bool on) { r.limits.capacity[level] = on; });
    }
    for (int kind = 4; kind >= 0; --kind)
      for (std::size_t k = 0; k < mapspace_.constraints.size(); ++k)
        if (static_cast<int>(mapspace_.constraints[k].kind) == kind)
          try_without([&](Restrictions& r, bool on) { r.constraint[k] = on; });
    if (budget_.spent())
      optimum_.arithmetic.push_back(
          "a limit ended the search for the smallest set: some of these may not be needed for the contradiction");
  }

  void name_constraints() {
    for (std::size_t k = 0; k < mapspace_.constraints.size(); ++k)
      if (kept_.constraint[k])
        optimum_.conflicts.push_back({describe(mapspace_.constraints[k], einsum_, chip_),
                                      mapspace_.constraints[k].where, static_cast<int>(k), -1, -1});
  }

  void name_hardware(int level) {
    const machine::Storage& storage = chip_.storages[level];
    if (kept_.limits.capacity[level] && storage.capacity_words) {
      const Units units = units_of(einsum_, storage.word_bits);
      // Words or, where dataspaces have widths of their own, what these and the words have in common.
      const std::string holds =
          fmt::format("{} holds {} {}", storage.name, units.word * *chip_.usable_words(level),
                      units.word == 1 ? "words" : fmt::format("x {} bits", storage.word_bits / units.word));
      optimum_.conflicts.push_back(
          {holds, storage.capacity_where.known() ? storage.capacity_where : storage.where, -1, level, -1});
      Restrictions lifted = kept_;
      lifted.limits.capacity[level] = false;
      if (const auto least = least_use(einsum_, space_of(lifted), level, budget_)) {
        std::string parts;
        for (std::size_t s = 0; s < einsum_.dataspaces.size(); ++s)
          if (least->keep >> s & 1)
            parts += fmt::format("{}{}", parts.empty() ? "" : "; ",
                                 tile_text(einsum_, static_cast<int>(s), least->extents, units.value[s]));
        optimum_.arithmetic.push_back(
            fmt::format("{}; with these constraints it must keep at least {}: {}", holds, least->words, parts));
      }
    }
    const Count x = chip_.fanout_x(level), y = chip_.fanout_y(level);
    if (kept_.limits.fanout[level] && x * y > 1) {
      optimum_.conflicts.push_back({fmt::format("{} feeds {} instances (X {} x Y {})", storage.name, x * y, x, y),
                                    storage.where, -1, -1, level});
    }
  }

  // What the remaining factor constraints demand of a dimension, and what they allow.
  void explain_factors(std::size_t d) {
    Count demanded = 1;
    std::string factors, ceilings;
    bool any = false;
    for (std::size_t k = 0; k < mapspace_.constraints.size(); ++k) {
      const Constraint& constraint = mapspace_.constraints[k];
      if (!kept_.constraint[k] || constraint.kind != Constraint::Kind::kFactor ||
          constraint.dimension != static_cast<int>(d))
        continue;
      any = true;
      if (constraint.comparison == Comparison::kAtMost) {
        ceilings += fmt::format("{}{} at {}", ceilings.empty() ? "" : ", ", constraint.value,
                                chip_.storages[constraint.level].name);
        continue;
      }
      if (constraint.value == 1) continue;
      demanded *= constraint.value;
      factors += fmt::format("{}{} ({})", factors.empty() ? "" : " x ", constraint.value,
                             chip_.storages[constraint.level].name);
    }
    if (!any) return;
    const Count bound = einsum_.dimensions[d].bound;
    const std::string& name = einsum_.dimensions[d].name;
    if (!factors.empty() && bound % demanded != 0) {
      optimum_.arithmetic.push_back(
          fmt::format("{} = {} cannot be divided by {} = {} without remainder; only whole factors are searched", name,
                      bound, factors, demanded));
      if (bound < std::numeric_limits<Count>::max() - demanded)
        optimum_.ways_out.push_back(fmt::format(
            "round {} up to {}, the next multiple of {}, with `--factors padded`, or take a chip without this factor",
            name, (bound / demanded + 1) * demanded, demanded));
    } else if (!factors.empty() || !ceilings.empty())
      optimum_.arithmetic.push_back(fmt::format("{} = {} needs factors that multiply to {}; {}{}{}", name, bound, bound,
                                                factors.empty() ? "" : "fixed or at least " + factors,
                                                factors.empty() || ceilings.empty() ? "" : "; ",
                                                ceilings.empty() ? "" : "at most " + ceilings));
  }

  void explain_bypasses(std::size_t s) {
    const auto bypasses =
        std::count_if(mapspace_.constraints.begin(), mapspace_.constraints.end(), [&](const Constraint& constraint) {
          return constraint.kind == Constraint::Kind::kKeep && !constraint.keep &&
                 constraint.dataspace == static_cast<int>(s);
        });
    if (bypasses >= levels_)
      optimum_.arithmetic.push_back(
          fmt::format("{} is bypassed at all {} levels: no level keeps it", einsum_.dataspaces[s].name, levels_));
  }

  const Model& model_;
  const workload::Einsum& einsum_;
  const machine::Chip& chip_;
  const Mapspace& mapspace_;
  const base::Budget& budget_;
  Optimum& optimum_;
  const int levels_;
  Restrictions kept_;
  bool factors_alone_ = false;
};

}  // namespace

void explain_empty(const Model& model, const Mapspace& mapspace, const base::Budget& budget, Optimum& optimum) {
  Explanation(model, mapspace, budget, optimum).run();
}

}  // namespace orrery::nest
