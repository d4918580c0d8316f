#include "orrery/formats/amped/result_names.h"

#include <cmath>

namespace orrery::formats::amped {

NamedNumbers derived(const equations::Quantities& quantities) {
  NamedNumbers out;
  for (const equations::Quantity& quantity : equations::quantity_table()) {
    const double value = quantities.*quantity.field;
    if (quantity.formula == nullptr || std::isnan(value)) continue;
    std::string name(quantity.name);
    if (name == "data_parallel_degree") name = "dp";
    if (name == "tensor_parallel_degree") name = "tp";
    if (name == "pipeline_parallel_degree") name = "pp";
    if (name.find("required_memory_per_accelerator") != std::string::npos) name += "_GB";
    out.emplace_back(std::move(name), value);
  }
  return out;
}

NamedNumbers outputs(const equations::Times& times) {
  return {{"reciprocal_of_OPS", times.mac_s},
          {"C_NONLIN", times.nonlinear_s},
          {"U_f", times.forward_s},
          {"U_b", times.backward_s},
          {"U_w", times.weight_gradient_s},
          {"M_f", times.forward.total},
          {"M_b", times.backward.total},
          {"M_f_TP_intra", times.forward.tp_intra},
          {"M_f_TP_inter", times.forward.tp_inter},
          {"M_f_PP", times.forward.pp},
          {"M_f_MoE", times.forward.experts},
          {"M_DP_allreduce", times.dp_s},
          {"W_bubble", times.bubble_s},
          {"time_per_layer_batch", times.layer_s},
          {"iteration_time_s", times.iteration_s},
          {"total_time_to_train_s", times.total_s},
          {"days", times.days}};
}

}  // namespace orrery::formats::amped
