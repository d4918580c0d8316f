#include "orrery/verbs/train/amped/report.h"

#include <fmt/format.h>

namespace orrery::verbs {

AmpedIteration amped_iteration(const amped::Quantities& q, const amped::Times& t) {
  const double each = q.layers / q.accelerators_required;
  AmpedIteration out;
  out.forward = each * t.forward_s;
  out.backward = each * (t.backward_s + t.weight_gradient_s);
  out.tp = q.layers * (t.forward.tp_intra + t.forward.tp_inter + t.backward.tp_intra + t.backward.tp_inter);
  out.pp = q.layers * (t.forward.pp + t.backward.pp);
  out.dp = q.layers * (t.dp_s + t.forward.gather + t.backward.gather);
  out.ep = q.layers * 2 * (t.forward.experts + t.backward.experts);
  out.bubble = q.layers * t.bubble_s;
  return out;
}

std::string amped_search_csv(const amped::Search& search) {
  std::string out =
      "batch_size,dp_intra,tp_intra,pp_intra,dp_inter,tp_inter,pp_inter,microbatches,memory_gb,iteration_time_s,"
      "total_time_to_train_s\n";
  for (const amped::Candidate& c : search.valid)
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", c.batch, c.dp_intra, c.tp_intra, c.pp_intra, c.dp_inter,
                       c.tp_inter, c.pp_inter, c.microbatches, c.memory_gb, c.iteration_s, c.total_s);
  return out;
}

}  // namespace orrery::verbs
