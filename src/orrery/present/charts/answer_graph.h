// The graph of kernels of an answer of `place`, as `--svg` draws it.
#pragma once

#include <string>

#include "orrery/present/chart/chart.h"

namespace orrery::verbs {

// SVG that stands within a page; "" where the document has no graph.
std::string graph_of(const Node& document);

}  // namespace orrery::verbs
