// The loop tree of what the search chose.
#pragma once

#include "orrery/engines/fused/search/labels.h"

namespace orrery::fused {

Tree rebuild(const std::vector<const OperatorMappings*>& sets, const Joined& joined);

}  // namespace orrery::fused
