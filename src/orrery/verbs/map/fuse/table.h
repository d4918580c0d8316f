// What `map --fuse` shows.
#pragma once

#include <cstddef>
#include <string>

#include "orrery/verbs/map/fuse/answer.h"

namespace orrery::verbs {

// What stands before a part of a sequence, or of what runs side by side.
const char* part_heading(const TreeNode& node, std::size_t part);

std::string map_fuse_table(const BlockAnswer& answer);

}  // namespace orrery::verbs
