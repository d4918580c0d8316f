// Why no loop tree is allowed, in words.
#pragma once

#include <string>
#include <vector>

#include "orrery/engines/fused/search/operator_set.h"

namespace orrery::fused {

std::string why_none(const Problem& problem, const SearchOptions& options,
                     const std::vector<const OperatorMappings*>& sets);

}  // namespace orrery::fused
