// The JSON document of `map --fuse`: schema "orrery.map_fuse/1".
#pragma once

#include "orrery/present/answer.h"
#include "orrery/verbs/map/fuse/answer.h"

namespace orrery::verbs {

Document<BlockAnswer> map_fuse_document();

}  // namespace orrery::verbs
