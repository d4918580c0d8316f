// A placement as a picture of its graph.
#pragma once

#include "orrery/report/graph_picture.h"
#include "orrery/scenario/place.h"

namespace orrery::report {

// Borrows the graph. Needs `placed.placement.mapping`.
GraphPicture picture_of(const scenario::PlacedGraph& placed);

}  // namespace orrery::report
