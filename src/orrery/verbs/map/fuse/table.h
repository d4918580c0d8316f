// What `map --fuse` shows.
#pragma once

#include <string>

#include "orrery/verbs/map/fuse/answer.h"

namespace orrery::verbs {

std::string map_fuse_table(const BlockAnswer& answer);

}  // namespace orrery::verbs
