// A graph of kernels in Graphviz's language.
#pragma once

#include <string>

#include "orrery/present/graph_picture.h"

namespace orrery::verbs {

// `dot -Tsvg` draws it: a node a kernel with its shape, an edge a connection with the bytes it carries, a coloured
// cluster a configuration. Names are quoted as DOT wants them. A pure function of the picture.
std::string graph_dot(const GraphPicture& picture);

}  // namespace orrery::verbs
