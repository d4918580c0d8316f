// A loop tree as a drawing that stands by itself: SVG 1.1 without scripts, fonts or anything to load.
#pragma once

#include <string>

#include "orrery/verbs/map/fuse/answer.h"

namespace orrery::verbs {

// A box a loop, around what is inside it; a line a tensor that a storage keeps or hands on, in the storage's colour. A
// bar beside it says how full the storage is with all that it holds on the way in from the outermost loop, over its
// capacity where that is known. Hovering shows figures. Empty where there is no tree.
std::string tree_svg(const BlockAnswer& answer);

}  // namespace orrery::verbs
