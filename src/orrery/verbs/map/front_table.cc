#include "orrery/verbs/map/front_table.h"

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/present/text_table.h"
#include "orrery/verbs/map/loop_nest_text.h"

namespace orrery::verbs {

std::string front_table(const MappedLayer& layer) {
  Table table;
  table.header = {"energy (uJ)", "cycles", "util. (%)", "EDP (J*cycle)", "proof"};
  std::size_t found = 0;
  for (const nest::Optimum& point : layer.front->points) {
    if (!point.mapping) continue;
    ++found;
    const nest::Evaluation& cost = point.evaluation;
    table.rows.push_back(
        {energy_uj(cost.energy_pj), std::to_string(cost.cycles), percent(cost.utilization), edp(cost.edp_j_cycles),
         point.certificate.optimal ? "optimal" : fmt::format("gap {:.2f}%", 100 * point.certificate.gap)});
  }
  std::string out =
      fmt::format("{}: least energy for each number of cycles, {} point{}\n", layer.name, found, base::plural(found));
  out += text(table);
  out += layer.front->complete ? "complete: every other mapping is matched in both by one of these\n"
                               : "not complete: a limit ended the search; faster mappings may be missing\n";
  std::size_t number = 0;
  for (const nest::Optimum& point : layer.front->points)
    if (point.mapping) out += fmt::format("{:>4}  {}\n", ++number, one_line(layer.einsum, *point.mapping));
  return out;
}

}  // namespace orrery::verbs
