// What documents say of masks.
#pragma once

#include "orrery/engines/masks/measure.h"
#include "orrery/present/record.h"

namespace orrery::verbs {

Record<masks::Measured> sparse_figures();

}  // namespace orrery::verbs
