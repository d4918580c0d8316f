// The groups of a model's block as a loop tree.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orrery/verbs/map/fuse/answer.h"
#include "orrery/verbs/map/fuse/block_cost.h"

namespace orrery::verbs {

// What a dataspace of a part is called in the tree, and the bits of its values in a storage.
std::string tensor_name(const Chain& chain, const GroupPart& part, std::size_t dataspace);
double bits_of(const Chain& chain, const GroupPart& part, std::size_t level, std::size_t dataspace);

std::vector<TreeNode> nodes_of(const Chain& chain, const std::vector<Group>& groups);

}  // namespace orrery::verbs
