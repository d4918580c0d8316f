// A loop tree as lists of nodes: loops that branches share are one.
#pragma once

#include <vector>

#include "orrery/engines/fused/model/loop_tree.h"
#include "orrery/verbs/map/fuse/answer.h"

namespace orrery::verbs {

std::vector<TreeNode> nodes_of(const fused::Problem& problem, const fused::Tree& tree);

// The tree that nodes_of made such nodes of, with an einsum a branch. Throws InputError O2112 where they name what the
// problem has not; whether it is allowed is evaluate's to say.
fused::Tree tree_of(const fused::Problem& problem, const std::vector<TreeNode>& nodes);

// Words of a tensor's tile that what stands below the first `steps` steps of a branch spans.
base::Count tile_below(const fused::Problem& problem, const fused::Branch& branch, std::size_t steps, int access);

}  // namespace orrery::verbs
