// Time of a training by AMPeD's equations (imec, ISPASS 2023), as restated with their derivation in
// docs/model/amped.md: operations at a fixed share of the peak, ring collectives within and across nodes, and a
// pipeline's bubble, all of one layer and one global batch, times layers and batches. Where AMPeD's equations are wrong
// they are corrected, with one switch (Defects) each; all switches on, the sums are theirs term by term. Cost: some
// hundred operations.
#include "orrery/engines/amped/equations.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace orrery::amped {
namespace {

using Q = Quantities;

constexpr double kSecondsOfDay = 86400;

// A ring all-reduce sends this multiple of the data: (n - 1) / n to reduce, the same to spread.
double ring_factor(double ranks) {
  return 2 * (ranks - 1) / ranks;
}

double efficiency(const Q& q, const Constants& c) {
  if (c.efficiency_exponent == 0) return c.efficiency;
  return std::min(c.efficiency_cap, c.efficiency * std::pow(q.microbatch, c.efficiency_exponent));
}

// Communication of one pass through a layer, whose tensors of `volume` elements have `bits` each.
Communication communication(const Q& q, const Model& model, double volume, double bits) {
  const Constants& c = model.constants;
  const Defects& d = model.defects;
  const double node_bandwidth = q.node_bandwidth / c.oversubscription;
  const double of_rank = volume / q.dp;
  // Of the layers that the sum runs over a rank has those of its stage.
  const double stage = d.all_stages_communicate ? 1 : 1 / q.pp;

  Communication out;
  if (q.tp_intra > 1) {
    const double factor = ring_factor(q.tp_intra);
    const double sent = d.whole_batch_traffic ? 2 * volume / q.nodes_required : 2 * of_rank;
    out.tp_intra =
        stage * (q.accelerator_latency * factor * q.tp_intra + sent * bits * factor / q.accelerator_bandwidth);
  }
  if (q.tp_inter > 1) {
    const double sent = 2 * (d.whole_batch_traffic ? volume : of_rank);
    out.tp_inter =
        stage * (2 * (q.tp_inter - 1) * q.node_latency + sent * bits * ring_factor(q.tp_inter) / node_bandwidth);
  }
  // A stage passes its activations on once, however many layers it has.
  const double passed = (d.whole_batch_traffic ? volume : of_rank) * bits;
  const double pp_intra = q.pp_intra > 1 ? (q.accelerator_latency + passed / q.accelerator_bandwidth) / q.layers : 0;
  const double pp_inter = q.pp_inter > 1 ? (q.node_latency + passed / node_bandwidth) / q.layers : 0;
  out.pp = std::max(pp_intra, pp_inter);

  if (!d.experts_are_free && q.experts > 1) {
    // All-to-all of a rank's tokens among the places where experts are; layers with experts over all layers.
    const bool across = q.nodes_required > 1;
    const double places = std::min(q.experts, across ? q.nodes_required : q.accelerators_required);
    const double bandwidth = across ? node_bandwidth : q.accelerator_bandwidth;
    const double latency = across ? q.node_latency : q.accelerator_latency;
    if (places > 1)
      out.experts = stage * q.moe_layers / q.layers * (latency + of_rank * bits * (places - 1) / places / bandwidth);
  }
  const double sum = out.tp_intra + out.tp_inter + 2 * out.experts + out.pp;
  const double gather = q.dp > 1 || d.gathers_alone ? c.zero_gather : 0;
  out.gather = gather * sum;
  out.total = (1 + gather) * sum;
  return out;
}

}  // namespace

Times times_of(const Quantities& q, const Model& model) {
  const Constants& c = model.constants;
  const Defects& d = model.defects;
  const auto passes = [&](double bits) { return std::ceil(bits / c.unit_bits); };

  Times out;
  out.mac_s = 1 / (q.frequency * q.cores * q.units * efficiency(q, c) * q.unit_macs);
  out.nonlinear_s = 1 / (q.frequency * (d.one_core_nonlinear ? 1 : q.cores) * q.nonlinear_units * q.unit_nonlinears);
  const double products = q.attention_macs + q.mlp_macs;
  const double nonlinear = q.attention_nonlinear + q.mlp_nonlinear;
  const double forward_passes = passes(q.weight_bits);
  const double backward_passes = passes(std::max(q.weight_bits, q.gradient_bits));
  out.forward_s = out.mac_s * (products + q.gating_macs / 2 + q.decoder_macs) * forward_passes +
                  out.nonlinear_s * nonlinear * passes(q.activation_bits);
  out.backward_s = out.mac_s * (products + q.gating_macs / 2) * backward_passes +
                   out.nonlinear_s * nonlinear * passes(q.weight_bits);
  out.weight_gradient_s = out.mac_s * (products + q.gating_macs);
  out.gating_s = out.mac_s * q.gating_macs * (forward_passes / 2 + backward_passes / 2 + 1);

  out.forward = communication(q, model, q.activation_volume, q.activation_bits);
  out.backward = communication(q, model, q.error_volume, q.gradient_bits);

  const double stage = d.all_stages_communicate ? 1 : 1 / q.pp;
  const double gradients = q.layer_parameters / q.tp * q.gradient_bits;
  if (q.dp_intra > 1) {
    const double factor = ring_factor(q.dp_intra);
    out.dp_intra_s =
        stage * (q.accelerator_latency * factor * q.dp_intra + gradients * factor / q.accelerator_bandwidth);
  }
  if (q.dp_inter > 1) {
    out.dp_inter_s = stage * (2 * (q.dp_inter - 1) * q.node_latency +
                              gradients * ring_factor(q.dp_inter) / (q.node_bandwidth / c.oversubscription));
  }
  out.dp_intra_s *= c.exposed;
  out.dp_inter_s *= c.exposed;
  out.dp_s = out.dp_intra_s + out.dp_inter_s;

  const double ranks = q.accelerators_required;
  const double waited_for = d.short_bubble ? (out.forward_s + out.backward_s) / (ranks * q.layers)
                                           : (out.forward_s + out.backward_s + out.weight_gradient_s) / ranks;
  out.bubble_s = c.exposed * (q.pp - 1) * (waited_for + out.forward.total + out.backward.total) / q.microbatches;

  out.layer_s = (out.forward_s + out.backward_s + out.weight_gradient_s) / ranks + out.forward.total + out.dp_s +
                out.backward.total + out.bubble_s;
  out.iteration_s = q.layers * out.layer_s;
  out.total_s = q.batches * out.iteration_s;
  out.days = out.total_s / kSecondsOfDay;
  return out;
}

const std::vector<std::string_view>& time_reads() {
  static const std::vector<std::string_view> names = {
      "frequency",
      "number_of_cores",
      "functional_units_per_core",
      "functional_unit_hardware_8bit_MAC_per_cycle",
      "non_linear_functional_units_per_core",
      "non_linear_functional_unit_hardware_8bit_NLIN_per_cycle",
      "microbatch_size",
      "total_attention_sublayer_MAC_operations",
      "total_MLP_sublayer_MAC_operations",
      "gating_MAC_operations",
      "decoder_NMACs",
      "non_linear_operations_for_attention_sublayer",
      "non_linear_operations_for_MLP_sublayer",
      "weight_precision",
      "activation_precision",
      "gradient_precision",
      "activations_volume_per_layer_batch",
      "error_volume_per_layer_batch",
      "number_of_experts",
      "number_of_MoE_layers",
      "layers",
      "number_of_parameters_per_layer",
      "intra_node_data_parallel_degree",
      "inter_node_data_parallel_degree",
      "intra_node_tensor_parallel_degree",
      "inter_node_tensor_parallel_degree",
      "intra_node_pipeline_parallel_degree",
      "inter_node_pipeline_parallel_degree",
      "data_parallel_degree",
      "tensor_parallel_degree",
      "pipeline_parallel_degree",
      "number_of_microbatches_per_minibatch",
      "number_of_accelerators_required",
      "number_of_nodes_required",
      "inter_accelerator_bandwidth",
      "inter_accelerator_latency",
      "inter_node_latency",
      "inter_node_bandwidth",
      "number_of_batches",
  };
  return names;
}

double total_macs(const Quantities& q) {
  const double products = q.attention_macs + q.mlp_macs;
  return q.batches * q.layers * (3 * products + 2 * q.gating_macs + q.decoder_macs);
}

}  // namespace orrery::amped
