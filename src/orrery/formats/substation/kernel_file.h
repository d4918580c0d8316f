// Measurements of a fused kernel: `<kernel>-combined.csv`, `<kernel>-bm<rank>.csv`. A line is `NAME = value` in turn,
//
//   B = 8 J = 512 N = 1024 vec_dim = B DROP2_LINW2 = BJN ... time = 0.000192906 s
//
// with `ERROR` behind it where the kernel failed its verification: such lines do not count. Columns are found by name.
// Cost: one pass; a line whose names stand where those of the line before stood is read without looking them up.
#pragma once

#include "orrery/formats/substation/columns.h"

namespace orrery::formats::substation {

// Adds the lines of `source` to `table`. Errors, each at its place: O1711 (no such line, a column that is missing,
// unknown or stands twice), O1712 (layouts and dimensions), O1713, O1714 (times).
void read_kernel(Source& source, const Expected& expected, SizesSeen& sizes, tuning::Measured& table,
                 base::Diagnostics& found);

}  // namespace orrery::formats::substation
