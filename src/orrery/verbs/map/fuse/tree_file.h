// A loop tree from a file: what `map --fuse --json` wrote.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/numbers/content_hash.h"
#include "orrery/verbs/map/fuse/answer.h"

namespace orrery::verbs {

struct TreeFile {
  std::vector<TreeNode> tree;
  base::Input input;
};

// A document of `map --fuse`, or a tree by itself. Throws InputError: O0100 to O0104 where it is no text, O2112 where
// it holds no tree.
TreeFile read_tree(const std::string& path);

}  // namespace orrery::verbs
