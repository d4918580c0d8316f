// A loop tree of `map --fuse`, as nested lists.
#pragma once

#include <string>

#include "orrery/present/chart/chart.h"

namespace orrery::verbs {

// Whether a list of a document is one (docs/json.md).
bool is_loop_tree(const Node& node);
std::string loop_tree_html(const Node& tree);

}  // namespace orrery::verbs
