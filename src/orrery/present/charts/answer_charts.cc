#include "orrery/present/charts/answer_charts.h"

namespace orrery::verbs {
namespace {

struct KindCharts {
  const char* kind;
  std::vector<Chart> (*charts)(const Node& document);
};

constexpr KindCharts kKinds[] = {{"map", map_charts},
                                 {"eval", map_charts},
                                 {"map_fuse", map_fuse_charts},
                                 {"energy", energy_charts},
                                 {"train", train_charts},
                                 {"place", place_charts},
                                 {"serve", serve_charts},
                                 {"sweep", sweep_charts},
                                 {"validate", validate_charts},
                                 {"tune_run", tune_run_charts},
                                 {"tune_select", tune_select_charts},
                                 {"tune_ledger", tune_ledger_charts},
                                 {"sparse_mask", sparse_mask_charts},
                                 {"sparse_measure", sparse_measure_charts},
                                 {"sparse_simulate", sparse_simulate_charts},
                                 {"sparse_break_even", break_even_charts},
                                 {"sparse_sweep", sparse_points_charts},
                                 {"sparse_design", sparse_points_charts}};

}  // namespace

std::string kind_of(const Node& document) {
  const std::string schema = text_at(document, "schema");
  if (!schema.starts_with("orrery.")) return "";
  return schema.substr(7, schema.find('/') - 7);
}

std::vector<Chart> charts_of(const Node& document) {
  const std::string kind = kind_of(document);
  for (const KindCharts& each : kKinds) {
    if (kind != each.kind) continue;
    std::vector<Chart> out = each.charts(document);
    for (Chart& chart : out) prepare(chart);
    std::erase_if(out, [](const Chart& chart) { return chart.marks.empty(); });
    return out;
  }
  return {};
}

}  // namespace orrery::verbs
