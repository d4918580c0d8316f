// The charts of each kind of document, a function of what --json prints, and the list of them.
#pragma once

#include <string>
#include <vector>

#include "orrery/present/chart/chart_parts.h"

namespace orrery::verbs {

// "map" of the document's "orrery.map/1".
std::string kind_of(const Node& document);

// None where the kind has none, or the answer nothing to draw.
std::vector<Chart> charts_of(const Node& document);

std::vector<Chart> map_charts(const Node& document);  // of `eval`, too
std::vector<Chart> map_fuse_charts(const Node& document);
std::vector<Chart> energy_charts(const Node& document);
std::vector<Chart> train_charts(const Node& document);
std::vector<Chart> place_charts(const Node& document);
std::vector<Chart> serve_charts(const Node& document);
std::vector<Chart> sweep_charts(const Node& document);
std::vector<Chart> validate_charts(const Node& document);
std::vector<Chart> tune_run_charts(const Node& document);
std::vector<Chart> tune_select_charts(const Node& document);
std::vector<Chart> tune_ledger_charts(const Node& document);
std::vector<Chart> sparse_mask_charts(const Node& document);
std::vector<Chart> sparse_measure_charts(const Node& document);
std::vector<Chart> sparse_simulate_charts(const Node& document);
std::vector<Chart> break_even_charts(const Node& document);
std::vector<Chart> sparse_points_charts(const Node& document);  // of `sparse sweep` and `sparse design`

}  // namespace orrery::verbs
