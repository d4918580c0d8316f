// What documents say of masks.
#pragma once

#include "orrery/report/record.h"
#include "orrery/sparse/measure.h"

namespace orrery::report {

Record<sparse::Measured> sparse_figures();

}  // namespace orrery::report
