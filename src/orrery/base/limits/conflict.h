// Why a question has no answer: conditions that exclude every answer together, and none of which can be left out.
//
// Source: deletion filtering as for irreducible infeasible subsystems (J. Chinneck, E. Dravnieks, ORSA J. Computing 3,
// 1991). Cost: one question a condition.
#pragma once

#include <functional>
#include <optional>
#include <vector>

namespace orrery::base {

// Which of the conditions are insisted on, by their places.
using ConditionSet = std::vector<bool>;

// Whether no answer fulfils these conditions; nothing where that is not known, such as when a budget is spent. More
// conditions exclude more.
using Excludes = std::function<std::optional<bool>(const ConditionSet&)>;

struct IrreducibleConflict {
  ConditionSet conditions;
  bool proven = true;  // false: a question was left open, so that some of these may not be needed
};

// Of `count` conditions that exclude every answer together. Each is taken away in turn, for good where the others still
// do, so those that come last are the most likely to be named.
IrreducibleConflict irreducible_conflict(std::size_t count, const Excludes& excludes);

}  // namespace orrery::base
