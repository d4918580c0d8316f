// What a constraint is about: its level, and what kind of thing it says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/machine/chip.h"
#include "orrery/formats/timeloop/architecture/architecture.h"

namespace orrery::formats::timeloop {

enum class ConstraintType {
  kTemporal,
  kSpatial,
  kDataspace,
  kParallelism,
  kReuse,
  kUnmodelled,  // would change the figures
  kUnknown
};

ConstraintType constraint_type(const std::string& name);
const std::vector<std::string>& constraint_type_names();

// What a user may write as a target, outermost first: storages, and containers by their own name.
std::vector<std::string> target_names(const machine::Chip& chip);

// Level that a target names. Spatial loops of a component that fans out itself belong to the fan-out around it.
std::optional<int> level_named(const machine::Chip& chip, const std::string& target, bool spatial);

// The same, reporting why there is none (O0502, O0503, O0520). A number is a level counted from the innermost.
std::optional<int> find_target(const Architecture& architecture, const std::string& target, ConstraintType type,
                               const base::Location& where, base::Diagnostics& found);

// O0520: `target` is a container without a fan-out.
void warn_without_fanout(const std::string& target, const base::Location& where, base::Diagnostics& found);

}  // namespace orrery::formats::timeloop
