// A placement as a picture of its graph.
#pragma once

#include "orrery/present/graph_picture.h"
#include "orrery/verbs/place/run.h"

namespace orrery::verbs {

// Borrows the graph. Needs `placed.placement.mapping`.
GraphPicture picture_of(const PlacedGraph& placed);

}  // namespace orrery::verbs
