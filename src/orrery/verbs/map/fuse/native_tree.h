// The groups of a model's block as a loop tree.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orrery/inputs/blocks/block_cost.h"
#include "orrery/verbs/map/fuse/answer.h"

namespace orrery::verbs {

// What a dataspace of a part is called in the tree, and the bits of its values in a storage.
std::string tensor_name(const Chain& chain, const GroupPart& part, std::size_t dataspace);
double bits_of(const Chain& chain, const GroupPart& part, std::size_t level, std::size_t dataspace);

// Names of loops that no dimension has: over equal copies, over the keys of an online softmax.
inline constexpr const char* kInstance = "instance";
inline constexpr const char* kKeys = "keys";

std::vector<TreeNode> nodes_of(const Chain& chain, const std::vector<Group>& groups);

// The groups that a tree describes, priced. Throws InputError: O2112 where it is no tree of this block, or a storage
// has no room; O0710 to O0724 where a mapping is not legal.
std::vector<Group> groups_of(Chain& chain, const std::vector<TreeNode>& nodes, const nest::ModelOptions& model);

}  // namespace orrery::verbs
