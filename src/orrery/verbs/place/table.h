// What `place` prints: a row per configuration, then the times, the money and the proof.
#pragma once

#include <string>
#include <vector>

#include "orrery/verbs/place/run.h"

namespace orrery::verbs {

// Every figure is modelled. Needs `placed.placement.mapping`.
std::string place_table(const PlacedGraph& placed);

// "Add_Prev_Layer..K, SOFTMAX": neighbours in the graph's order as a range, at most `most` ranges, then how many more.
std::string kernel_ranges(const workload::KernelGraph& graph, const std::vector<int>& kernels, std::size_t most);

// "ring 8 x 50 GB/s (TP), ring 128 x 50 GB/s (PP)".
std::string network_text(const dataflow::System& system, const dataflow::Degrees& degrees);

// The names that options, tables and JSON use.
const char* name(dataflow::Binding bound);
const char* name(workload::KernelDimension dimension);
const char* name(dataflow::Link link);  // JSON writes "fully_connected" for "fully connected"
const char* name(dataflow::Parallelism parallelism);
std::string formulas(const dataflow::Defects& defects);  // "corrected", "gen2", or the names of single defects

// Whether a setup says what anything costs, or takes. If not, money and power are not known, which is not 0.
bool names_prices(const dataflow::Prices& prices);
bool names_powers(const dataflow::Prices& prices);

}  // namespace orrery::verbs
