#include "orrery/base/limits/conflict.h"

namespace orrery::base {

IrreducibleConflict irreducible_conflict(std::size_t count, const Excludes& excludes) {
  IrreducibleConflict found{ConditionSet(count, true), true};
  for (std::size_t i = 0; i < count; ++i) {
    found.conditions[i] = false;
    const std::optional<bool> still = excludes(found.conditions);
    found.proven = found.proven && still.has_value();
    found.conditions[i] = !still.value_or(false);
  }
  return found;
}

}  // namespace orrery::base
