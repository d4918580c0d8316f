// A model's block on one of Orrery's chips, its operators joined into groups (block_groups.h).
#pragma once

#include "orrery/verbs/map/fuse/answer.h"
#include "orrery/verbs/map/fuse/request.h"

namespace orrery::verbs {

// Throws InputError as ask_layers does.
BlockAnswer map_native_block(const BlockRequest& request);

}  // namespace orrery::verbs
