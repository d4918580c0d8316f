// A folder of measurements as Substation leaves it, for all operators of a layer.
#pragma once

#include "orrery/base/diagnostic.h"
#include "orrery/tuning/graph.h"
#include "orrery/tuning/measured.h"

namespace orrery::formats::substation {

// Reads, for each benchmark of the graph, `<kernel>-combined.csv` or, where there is none, all `<kernel>-bm<rank>.csv`;
// `<op>-result.csv` or all `<op>-pruned-bm<rank>.csv` with `<op>.csv`. On `threads` threads (<= 0: all), with the same
// result for any number. Throws InputError, all problems at once: O0100 (no folder), O1710 (files that are missing),
// O1711 to O1714, O1715 (a file without a usable line), O1722, O1724 (too large a file). Warnings go to `warnings`:
// O1723 (files of measurements that no operator of the graph takes).
tuning::Measurements read_folder(const std::string& folder, const tuning::Graph& graph, int threads,
                                 base::Diagnostics& warnings);

}  // namespace orrery::formats::substation
