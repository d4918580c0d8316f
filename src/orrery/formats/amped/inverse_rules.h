// Rules for quantities that AMPeD wants stated, for users who state others instead and mark these as calculated: the
// global batch from a replica's, the model's width from its heads, and so on.
#pragma once

#include <string_view>

#include "orrery/engines/amped/quantities.h"

namespace orrery::formats::amped {

namespace equations = ::orrery::amped;

struct InverseRule {
  std::string_view name;
  std::string_view reads;  // separated by spaces
  double (*formula)(const equations::Quantities&);
};

// Null when there is none.
const InverseRule* inverse_rule(std::string_view name);

}  // namespace orrery::formats::amped
