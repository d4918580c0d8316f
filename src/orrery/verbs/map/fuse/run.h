// The best loop tree of a block of einsums, and what it costs.
#pragma once

#include "orrery/verbs/map/fuse/answer.h"
#include "orrery/verbs/map/fuse/request.h"

namespace orrery::verbs {

// Throws InputError: O1103 without files, O2100 to O2110, and as the readers do.
BlockAnswer map_fused_block(const BlockRequest& request);

}  // namespace orrery::verbs
