// A graph of kernels as a drawing that stands by itself: SVG 1.1 without scripts, fonts or anything to load.
#pragma once

#include <string>

#include "orrery/present/graph_picture.h"

namespace orrery::verbs {

// A box a kernel in rows by level, coloured by unit and direction; a curve an edge; a coloured band a configuration,
// from the first on top. Hovering shows sizes. Well-formed whatever the names hold. A pure function of the picture.
std::string graph_svg(const GraphPicture& picture);

// `text` as it may stand in XML: `&<>"'` escaped, control characters dropped, bytes that are no UTF-8 as U+FFFD.
std::string xml_text(const std::string& text);

}  // namespace orrery::verbs
