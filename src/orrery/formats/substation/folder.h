// A folder of measurements as Substation leaves it, for all operators of a layer.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/runtime/tuning/graph.h"
#include "orrery/runtime/tuning/measured.h"

namespace orrery::formats::substation {

struct Reading {
  int threads = 1;                           // <= 0: all; changes the time only
  const std::atomic<bool>* stop = nullptr;   // once set, the reading ends
  std::size_t piece = std::size_t{4} << 20;  // bytes of a kernel's file that one thread reads; changes the time only
};

// Reads, for each benchmark of the graph, `<kernel>-combined.csv` or, where there is none, all `<kernel>-bm<rank>.csv`;
// `<op>-result.csv` or all `<op>-pruned-bm<rank>.csv` with `<op>.csv`. Nothing where `stop` ended it. Throws
// InputError, all problems at once: O0100 (no folder), O1710 (files that are missing), O1711 to O1714, O1715 (a file
// without a usable line), O1722, O1724 (too large a file). Warnings go to `warnings`: O1723 (files of measurements that
// no operator of the graph takes).
std::optional<tuning::Measurements> read_folder(const std::string& folder, const tuning::Graph& graph,
                                                const Reading& how, base::Diagnostics& warnings);
// Without an end before the end.
tuning::Measurements read_folder(const std::string& folder, const tuning::Graph& graph, int threads,
                                 base::Diagnostics& warnings);

}  // namespace orrery::formats::substation
