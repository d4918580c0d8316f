// Where a block stands under its chip's roofline, with fusion and without.
#pragma once

#include <optional>
#include <vector>

#include "orrery/inputs/blocks/block_cost.h"
#include "orrery/verbs/map/fuse/answer.h"

namespace orrery::verbs {

// Operations for each byte that crosses the outermost storage's ports; below `ridge` those take longer than the units.
// `unfused` may be empty.
BlockRoofline roofline_of(const Chain& chain, const std::vector<Group>& best, const std::vector<Group>& unfused);

}  // namespace orrery::verbs
