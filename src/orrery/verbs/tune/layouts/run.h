// Every layout of the contractions and fused kernels of a layer, and files of them as Substation's einsum_perms writes
// them.
#pragma once

#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/inputs/output_file.h"
#include "orrery/verbs/tune/layouts/answer.h"
#include "orrery/verbs/tune/layouts/request.h"

namespace orrery::verbs {

// Throws InputError: O1700 for sizes that are missing or do not go together, O1701 where a tensor has more words than a
// count of 64 bits holds.
LayoutsAnswer tune_layouts(const LayoutsRequest& request);

// NAME.csv with each layout, NAME-pruned.csv with each call once, size-params.txt.
std::vector<OutputFile> layout_files(const LayoutsAnswer& answer);

}  // namespace orrery::verbs
