// The example of the tests of AMPeD's equations.
#pragma once

#include <vector>

#include "orrery/engines/amped/equations.h"

namespace orrery::amped {

// A run of some 7.5B parameters on 64 nodes of 8.
inline Quantities run_of_seven_billion() {
  Quantities q;
  q.layers = 36, q.dimensionality = 4096, q.attention_heads = 32, q.head_width = 128;
  q.key_query_value_length = 128, q.mlp_width = 16384, q.context = 2048, q.vocabulary = 51200;
  q.batch_size = 512, q.tokens_to_train = 3e11, q.experts = 1;
  q.weight_bits = q.activation_bits = q.gradient_bits = 16, q.optimizer_bits = 32;
  q.bigger_tile = 128;
  q.dp_intra = 1, q.tp_intra = 4, q.pp_intra = 2, q.dp_inter = 8, q.tp_inter = 2, q.pp_inter = 4;
  q.frequency = 1.41e9, q.cores = 108, q.units = 4, q.unit_macs = 256, q.nonlinear_units = 4, q.unit_nonlinears = 4;
  q.accelerator_bandwidth = 2.4e12, q.accelerator_latency = 3e-6, q.node_latency = 5e-6, q.card_bandwidth = 2e11;
  return q;
}

inline std::vector<bool> nothing() {
  return std::vector<bool>(quantity_table().size(), false);
}

inline Times times(Quantities q, const Model& model) {
  calculate(q, nothing(), model.defects);
  return times_of(q, model);
}

}  // namespace orrery::amped
