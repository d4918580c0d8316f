// `--set path=value`: a field of a setup file replaced, as if the file said so.
#pragma once

#include "orrery/base/text/override.h"
#include "orrery/formats/dfmodel/block.h"

namespace orrery::formats::dfmodel {

// Paths are the names of blocks and a field, from the file's own: "system.num_chip", "execution.llm.tile_size".
// `execution` also means `miscellany`, `system.topology` and `execution.workload` the one that is there. Kernels go by
// name or id (connections by their id), their bodies need not be named: "dataflow_graph.kernels.FFN0.sharding". Blocks
// that are missing are made. Values are written as in the file; texts need no quotes. Errors: O1421 (no such field, no
// scalar), and those of parse_text for values.
void apply_overrides(const base::Overrides& overrides, Block& root, base::Diagnostics& found);

}  // namespace orrery::formats::dfmodel
