// Derived quantities of AMPeD's equations, one row each: what is read, and the formula.
//
// Sizes are those of one transformer layer for the whole global batch B. S: context, S': the tokens attended to, h_k: a
// head's width, H: heads, D: the model's width, F: the MLP's. Sources: AMPeD's documented parameters; the formulas as
// restated in docs/model/amped.md. Cost: one pass over the table, in an order fixed once.
#include "orrery/engines/amped/quantities.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "orrery/base/diagnostics/check.h"

namespace orrery::amped {
namespace {

constexpr double kBitsInGb = 8e9;

double intensity(double width, double tile) {
  return (width / (width / tile + 1)) / 2;
}
double effective(double degree) {
  return std::min(1.0, degree / 100);
}
double hidden_volume(const Quantities& q, const Defects& d) {
  return q.batch_size * q.context * (d.per_head_activations ? q.head_width : q.dimensionality);
}

constexpr Category kNet = Category::kNetwork, kMap = Category::kMapping, kSys = Category::kSystem,
                   kAcc = Category::kAccelerator;
constexpr Domain kWhole = Domain::kWhole, kPos = Domain::kPositive, kNonNeg = Domain::kNonNegative;

constexpr Quantity given(std::string_view name, double Quantities::*field, Category category, Domain domain,
                         std::string_view description) {
  return {name, field, category, domain, description, {}, nullptr};
}

// clang-format off
constexpr std::array kQuantities = {
    given("layers", &Quantities::layers, kNet, kWhole, "transformer layers"),
    given("dimensionality", &Quantities::dimensionality, kNet, kWhole, "width of the model (D)"),
    given("attention_heads", &Quantities::attention_heads, kNet, kWhole, "heads of attention (H)"),
    given("hidden_layer_dimension_for_attention_sublayers", &Quantities::head_width, kNet, kWhole, "width of one head (h_k)"),
    given("key_query_value_length", &Quantities::key_query_value_length, kNet, kWhole, "length of a head's key, query and value"),
    given("hidden_layer_dimension_MLP_2", &Quantities::mlp_width, kNet, kWhole, "inner width of the MLP (F)"),
    Quantity{"hidden_layer_dimension_MLP_1", &Quantities::mlp_width_1, kNet, kWhole, "output width of the MLP's first product",
     "hidden_layer_dimension_MLP_2", [](const Quantities& q, const Defects&) { return q.mlp_width; }},
    given("context", &Quantities::context, kNet, kWhole, "tokens of a sequence (S)"),
    Quantity{"summarization_len", &Quantities::summarization_len, kNet, kWhole, "tokens attended to; the context in training",
     "context", [](const Quantities& q, const Defects&) { return q.context; }},
    given("tokens_to_train", &Quantities::tokens_to_train, kNet, kPos, "tokens of the whole training"),
    given("batch_size", &Quantities::batch_size, kNet, kWhole, "global batch in sequences (B)"),
    given("number_of_tokens_in_vocabulary", &Quantities::vocabulary, kNet, kWhole, "tokens in the vocabulary (V)"),
    given("number_of_experts", &Quantities::experts, kNet, kWhole, "experts of a mixture; 1: none (E)"),
    given("weight_precision", &Quantities::weight_bits, kNet, kPos, "bits of a weight (w)"),
    given("activation_precision", &Quantities::activation_bits, kNet, kPos, "bits of an activation (a)"),
    given("gradient_precision", &Quantities::gradient_bits, kNet, kPos, "bits of a gradient (g)"),
    given("optimizer_state_precision", &Quantities::optimizer_bits, kNet, kPos, "bits of one number of the optimizer's state (o)"),
    given("bigger_tile_block_size", &Quantities::bigger_tile, kNet, kPos, "side of a tile of a matrix product"),
    Quantity{"samples", &Quantities::samples, kNet, kPos, "sequences of the whole training",
     "tokens_to_train context", [](const Quantities& q, const Defects&) { return q.tokens_to_train / q.context; }},
    Quantity{"number_of_batches", &Quantities::batches, kNet, kPos, "iterations of the whole training",
     "samples batch_size", [](const Quantities& q, const Defects&) { return q.samples / q.batch_size; }},
    Quantity{"minibatch_size", &Quantities::minibatch, kNet, kPos, "sequences of one replica in an iteration",
     "batch_size data_parallel_degree", [](const Quantities& q, const Defects&) { return q.batch_size / q.dp; }},
    Quantity{"microbatch_size", &Quantities::microbatch, kNet, kPos, "sequences in one pass through the pipeline",
     "minibatch_size number_of_microbatches_per_minibatch",
     [](const Quantities& q, const Defects&) { return q.minibatch / q.microbatches; }},
    Quantity{"query_MAC_operations", &Quantities::query_macs, kNet, kNonNeg, "MACs of one head's queries",
     "batch_size context hidden_layer_dimension_for_attention_sublayers dimensionality",
     [](const Quantities& q, const Defects&) { return q.batch_size * q.context * q.head_width * q.dimensionality; }},
    Quantity{"key_MAC_operations", &Quantities::key_macs, kNet, kNonNeg, "MACs of one head's keys",
     "batch_size context hidden_layer_dimension_for_attention_sublayers dimensionality",
     [](const Quantities& q, const Defects&) { return q.batch_size * q.context * q.head_width * q.dimensionality; }},
    Quantity{"value_MAC_operations", &Quantities::value_macs, kNet, kNonNeg, "MACs of one head's values",
     "batch_size context hidden_layer_dimension_for_attention_sublayers dimensionality",
     [](const Quantities& q, const Defects&) { return q.batch_size * q.context * q.head_width * q.dimensionality; }},
    Quantity{"self_attention_MAC_operations", &Quantities::self_attention_macs, kNet, kNonNeg, "MACs of one head's two products",
     "batch_size context summarization_len hidden_layer_dimension_for_attention_sublayers",
     [](const Quantities& q, const Defects&) { return 2 * q.batch_size * q.context * q.summarization_len * q.head_width; }},
    Quantity{"multihead_MAC_operations", &Quantities::multihead_macs, kNet, kNonNeg, "MACs of all heads",
     "attention_heads query_MAC_operations key_MAC_operations value_MAC_operations self_attention_MAC_operations",
     [](const Quantities& q, const Defects&) {
       return q.attention_heads * (q.query_macs + q.key_macs + q.value_macs + q.self_attention_macs);
     }},
    Quantity{"attention_sublayer_output_MAC_operations", &Quantities::attention_output_macs, kNet, kNonNeg,
     "MACs of the projection of attention's output", "batch_size context dimensionality",
     [](const Quantities& q, const Defects&) { return q.batch_size * q.context * q.dimensionality * q.dimensionality; }},
    Quantity{"total_attention_sublayer_MAC_operations", &Quantities::attention_macs, kNet, kNonNeg, "MACs of attention",
     "multihead_MAC_operations attention_sublayer_output_MAC_operations",
     [](const Quantities& q, const Defects&) { return q.multihead_macs + q.attention_output_macs; }},
    Quantity{"total_MLP_sublayer_MAC_operations", &Quantities::mlp_macs, kNet, kNonNeg, "MACs of the MLP",
     "batch_size context dimensionality hidden_layer_dimension_MLP_2",
     [](const Quantities& q, const Defects&) { return 2 * q.batch_size * q.context * q.dimensionality * q.mlp_width; }},
    Quantity{"expert_flag", &Quantities::expert_flag, kNet, kNonNeg, "1 with a mixture of experts, else 0",
     "number_of_experts", [](const Quantities& q, const Defects&) { return q.experts > 1 ? 1.0 : 0.0; }},
    Quantity{"number_of_MoE_layers", &Quantities::moe_layers, kNet, kNonNeg, "layers that would have a mixture: every other",
     "layers", [](const Quantities& q, const Defects&) { return std::floor(q.layers / 2); }},
    Quantity{"gating_MAC_operations", &Quantities::gating_macs, kNet, kNonNeg, "MACs of the gates",
     "context dimensionality batch_size expert_flag number_of_experts number_of_MoE_layers layers",
     [](const Quantities& q, const Defects& d) {
       const double all = q.context * (q.dimensionality - 1) * q.batch_size * q.expert_flag * q.experts * q.moe_layers;
       return d.gating_of_all_layers ? all : all / q.layers;
     }},
    Quantity{"decoder_NMACs", &Quantities::decoder_macs, kNet, kNonNeg, "further MACs of a decoder; none in addition to those above",
     "", [](const Quantities&, const Defects&) { return 0.0; }},
    Quantity{"decoder_flag", &Quantities::decoder_flag, kNet, kNonNeg, "whether there is a decoder in addition to the layers",
     "", [](const Quantities&, const Defects&) { return 0.0; }},
    Quantity{"non_linear_operations_for_attention_sublayer", &Quantities::attention_nonlinear, kNet, kNonNeg,
     "non-linear operations of attention",
     "batch_size context summarization_len hidden_layer_dimension_for_attention_sublayers attention_heads",
     [](const Quantities& q, const Defects& d) {
       const double outputs = q.batch_size * q.context * q.head_width * q.attention_heads;
       return d.no_softmax ? outputs : outputs + q.batch_size * q.attention_heads * q.context * q.summarization_len;
     }},
    Quantity{"non_linear_operations_for_MLP_sublayer", &Quantities::mlp_nonlinear, kNet, kNonNeg, "non-linear operations of the MLP",
     "batch_size context dimensionality hidden_layer_dimension_MLP_2",
     [](const Quantities& q, const Defects& d) {
       const double once = 2 * q.batch_size * (q.dimensionality + q.mlp_width);
       return d.no_softmax ? once : once * q.context;
     }},
    Quantity{"activations_volume_per_layer_batch", &Quantities::activation_volume, kNet, kNonNeg, "activations between two layers",
     "batch_size context hidden_layer_dimension_for_attention_sublayers dimensionality", hidden_volume},
    Quantity{"error_volume_per_layer_batch", &Quantities::error_volume, kNet, kNonNeg, "errors between two layers",
     "batch_size context hidden_layer_dimension_for_attention_sublayers dimensionality", hidden_volume},
    Quantity{"dim_query_weight", &Quantities::query_weight, kNet, kNonNeg, "weights of the queries",
     "dimensionality key_query_value_length attention_heads",
     [](const Quantities& q, const Defects&) { return q.dimensionality * q.key_query_value_length * q.attention_heads; }},
    Quantity{"dim_key_weight", &Quantities::key_weight, kNet, kNonNeg, "weights of the keys",
     "dimensionality key_query_value_length attention_heads",
     [](const Quantities& q, const Defects&) { return q.dimensionality * q.key_query_value_length * q.attention_heads; }},
    Quantity{"dim_value_weight", &Quantities::value_weight, kNet, kNonNeg, "weights of the values",
     "dimensionality key_query_value_length attention_heads",
     [](const Quantities& q, const Defects&) { return q.dimensionality * q.key_query_value_length * q.attention_heads; }},
    Quantity{"projection_weight", &Quantities::projection_weight, kNet, kNonNeg, "weights of the output projection",
     "dimensionality key_query_value_length attention_heads",
     [](const Quantities& q, const Defects&) { return q.dimensionality * q.key_query_value_length * q.attention_heads; }},
    Quantity{"feedforward_bias_1", &Quantities::bias_1, kNet, kNonNeg, "offsets of the first normalisation", "dimensionality",
     [](const Quantities& q, const Defects&) { return q.dimensionality; }},
    Quantity{"feedforward_bias_2", &Quantities::bias_2, kNet, kNonNeg, "offsets of the second normalisation", "dimensionality",
     [](const Quantities& q, const Defects&) { return q.dimensionality; }},
    Quantity{"feedforward_scale_1", &Quantities::scale_1, kNet, kNonNeg, "scales of the first normalisation", "dimensionality",
     [](const Quantities& q, const Defects&) { return q.dimensionality; }},
    Quantity{"feedforward_scale_2", &Quantities::scale_2, kNet, kNonNeg, "scales of the second normalisation", "dimensionality",
     [](const Quantities& q, const Defects&) { return q.dimensionality; }},
    Quantity{"embedding_layer_parameters", &Quantities::embedding_parameters, kNet, kNonNeg, "parameters of the embedding",
     "number_of_tokens_in_vocabulary dimensionality",
     [](const Quantities& q, const Defects&) { return q.vocabulary * q.dimensionality; }},
    Quantity{"number_of_parameters_per_layer", &Quantities::layer_parameters, kNet, kNonNeg,
     "parameters of a layer, with its share of the embedding",
     "dim_query_weight dim_key_weight dim_value_weight projection_weight feedforward_bias_1 feedforward_bias_2 "
     "feedforward_scale_1 feedforward_scale_2 dimensionality hidden_layer_dimension_MLP_2 embedding_layer_parameters layers",
     [](const Quantities& q, const Defects&) {
       const double attention = q.query_weight + q.key_weight + q.value_weight + q.projection_weight;
       const double vectors = q.bias_1 + q.bias_2 + q.scale_1 + q.scale_2;
       return attention + vectors + 2 * q.dimensionality * q.mlp_width + q.embedding_parameters / q.layers;
     }},
    Quantity{"number_of_parameters_per_expert", &Quantities::expert_parameters_each, kNet, kNonNeg, "parameters of one expert",
     "dimensionality hidden_layer_dimension_MLP_2",
     [](const Quantities& q, const Defects&) { return 2 * q.dimensionality * q.mlp_width; }},
    Quantity{"number_of_gating_parameters", &Quantities::gating_parameters, kNet, kNonNeg, "parameters of all gates",
     "expert_flag dimensionality number_of_experts number_of_MoE_layers",
     [](const Quantities& q, const Defects&) { return q.expert_flag * q.dimensionality * q.experts * q.moe_layers; }},
    Quantity{"number_of_expert_parameters", &Quantities::expert_parameters, kNet, kNonNeg,
     "parameters of all experts beyond the first of a layer",
     "number_of_experts number_of_MoE_layers number_of_parameters_per_expert",
     [](const Quantities& q, const Defects&) { return (q.experts - 1) * q.moe_layers * q.expert_parameters_each; }},
    Quantity{"total_number_of_parameters_without_embedding", &Quantities::total_parameters, kNet, kPos,
     "parameters of all layers, with their shares of the embedding",
     "number_of_parameters_per_layer layers number_of_gating_parameters number_of_expert_parameters",
     [](const Quantities& q, const Defects&) {
       return q.layer_parameters * q.layers + q.gating_parameters + q.expert_parameters;
     }},

    given("intra_node_data_parallel_degree", &Quantities::dp_intra, kMap, kWhole, "replicas within a node"),
    given("inter_node_data_parallel_degree", &Quantities::dp_inter, kMap, kWhole, "replicas across nodes"),
    given("intra_node_tensor_parallel_degree", &Quantities::tp_intra, kMap, kWhole, "shards of a layer within a node"),
    given("inter_node_tensor_parallel_degree", &Quantities::tp_inter, kMap, kWhole, "shards of a layer across nodes"),
    given("intra_node_pipeline_parallel_degree", &Quantities::pp_intra, kMap, kWhole, "pipeline stages within a node"),
    given("inter_node_pipeline_parallel_degree", &Quantities::pp_inter, kMap, kWhole, "pipeline stages across nodes"),
    Quantity{"data_parallel_degree", &Quantities::dp, kMap, kWhole, "replicas of the model",
     "intra_node_data_parallel_degree inter_node_data_parallel_degree",
     [](const Quantities& q, const Defects&) { return q.dp_intra * q.dp_inter; }},
    Quantity{"tensor_parallel_degree", &Quantities::tp, kMap, kWhole, "shards of a layer",
     "intra_node_tensor_parallel_degree inter_node_tensor_parallel_degree",
     [](const Quantities& q, const Defects&) { return q.tp_intra * q.tp_inter; }},
    Quantity{"pipeline_parallel_degree", &Quantities::pp, kMap, kWhole, "pipeline stages",
     "intra_node_pipeline_parallel_degree inter_node_pipeline_parallel_degree",
     [](const Quantities& q, const Defects&) { return q.pp_intra * q.pp_inter; }},
    Quantity{"number_of_microbatches_per_minibatch", &Quantities::microbatches, kMap, kWhole, "passes through the pipeline in an iteration",
     "pipeline_parallel_degree", [](const Quantities& q, const Defects&) { return q.pp; }},
    Quantity{"accelerators_per_node_required", &Quantities::node_accelerators_required, kMap, kWhole, "accelerators used of a node",
     "intra_node_data_parallel_degree intra_node_tensor_parallel_degree intra_node_pipeline_parallel_degree",
     [](const Quantities& q, const Defects&) { return q.dp_intra * q.tp_intra * q.pp_intra; }},
    Quantity{"number_of_accelerators_required", &Quantities::accelerators_required, kMap, kWhole, "accelerators used",
     "data_parallel_degree tensor_parallel_degree pipeline_parallel_degree",
     [](const Quantities& q, const Defects&) { return q.dp * q.tp * q.pp; }},
    Quantity{"number_of_nodes_required", &Quantities::nodes_required, kMap, kWhole, "nodes used",
     "number_of_accelerators_required accelerators_per_node_required",
     [](const Quantities& q, const Defects&) { return std::floor(q.accelerators_required / q.node_accelerators_required); }},
    Quantity{"required_memory_per_accelerator_weights", &Quantities::weights_gb, kMap, kNonNeg,
     "weights, gradients and optimizer state of an accelerator (GB)",
     "weight_precision gradient_precision optimizer_state_precision total_number_of_parameters_without_embedding "
     "number_of_accelerators_required",
     [](const Quantities& q, const Defects&) {
       return (q.weight_bits + q.gradient_bits + 3 * q.optimizer_bits) * q.total_parameters /
              (q.accelerators_required * kBitsInGb);
     }},
    Quantity{"required_memory_per_accelerator_activations", &Quantities::activations_gb, kMap, kNonNeg,
     "activations of an accelerator (GB)",
     "activation_precision layers non_linear_operations_for_attention_sublayer non_linear_operations_for_MLP_sublayer "
     "error_volume_per_layer_batch number_of_microbatches_per_minibatch data_parallel_degree tensor_parallel_degree "
     "pipeline_parallel_degree number_of_accelerators_required",
     [](const Quantities& q, const Defects& d) {
       const double kept = q.attention_nonlinear + q.mlp_nonlinear + 2 * q.error_volume;
       const double ranks = d.activations_over_all_ranks ? q.accelerators_required : q.tp * q.pp;
       return q.activation_bits * q.layers * kept / q.microbatches / q.dp / (ranks * kBitsInGb);
     }},
    Quantity{"total_required_memory_per_accelerator", &Quantities::memory_gb, kMap, kNonNeg, "memory of an accelerator (GB)",
     "required_memory_per_accelerator_weights required_memory_per_accelerator_activations",
     [](const Quantities& q, const Defects&) { return q.weights_gb + q.activations_gb; }},
    Quantity{"min_required_memory_per_accelerator", &Quantities::least_memory_gb, kMap, kNonNeg,
     "the same without the optimizer's state and half of the gradients (GB)",
     "weight_precision gradient_precision total_number_of_parameters_without_embedding number_of_accelerators_required "
     "required_memory_per_accelerator_activations",
     [](const Quantities& q, const Defects&) {
       return (q.weight_bits + q.gradient_bits / 2) * q.total_parameters / (q.accelerators_required * kBitsInGb) +
              q.activations_gb;
     }},
    Quantity{"tile_block_size", &Quantities::tile, kMap, kPos, "side of a tile of a matrix product", "bigger_tile_block_size",
     [](const Quantities& q, const Defects&) { return q.bigger_tile; }},

    given("inter_accelerator_bandwidth", &Quantities::accelerator_bandwidth, kSys, kPos, "between accelerators of a node (bit/s)"),
    given("inter_accelerator_latency", &Quantities::accelerator_latency, kSys, kNonNeg, "between accelerators of a node (s)"),
    given("inter_node_latency", &Quantities::node_latency, kSys, kNonNeg, "between nodes (s)"),
    given("bandwidth_per_network_card", &Quantities::card_bandwidth, kSys, kPos, "of one network card (bit/s)"),
    Quantity{"number_of_accelerators_per_node", &Quantities::node_accelerators, kSys, kWhole, "accelerators in a node",
     "accelerators_per_node_required", [](const Quantities& q, const Defects&) { return q.node_accelerators_required; }},
    Quantity{"number_of_network_cards_per_node", &Quantities::cards, kSys, kWhole, "network cards in a node",
     "number_of_accelerators_per_node", [](const Quantities& q, const Defects&) { return q.node_accelerators; }},
    Quantity{"inter_node_bandwidth", &Quantities::node_bandwidth, kSys, kPos, "of a node's network cards together (bit/s)",
     "number_of_network_cards_per_node bandwidth_per_network_card",
     [](const Quantities& q, const Defects&) { return q.cards * q.card_bandwidth; }},
    Quantity{"total_intra_node_bandwidth", &Quantities::intra_node_bandwidth, kSys, kPos, "of a node's accelerators together (bit/s)",
     "number_of_accelerators_per_node inter_accelerator_bandwidth",
     [](const Quantities& q, const Defects&) { return q.node_accelerators * q.accelerator_bandwidth; }},
    Quantity{"number_of_nodes", &Quantities::nodes, kSys, kWhole, "nodes", "number_of_nodes_required",
     [](const Quantities& q, const Defects&) { return q.nodes_required; }},
    Quantity{"total_number_of_accelerators", &Quantities::accelerators, kSys, kWhole, "accelerators",
     "number_of_nodes number_of_accelerators_per_node",
     [](const Quantities& q, const Defects&) { return q.nodes * q.node_accelerators; }},
    Quantity{"compute_intensity_K_Q_V", &Quantities::intensity_kqv, kSys, kNonNeg, "operations for each byte: keys, queries, values",
     "hidden_layer_dimension_for_attention_sublayers tile_block_size",
     [](const Quantities& q, const Defects&) { return intensity(q.head_width, q.tile); }},
    Quantity{"compute_intensity_self_attention", &Quantities::intensity_attention, kSys, kNonNeg, "the same: attention",
     "hidden_layer_dimension_for_attention_sublayers tile_block_size",
     [](const Quantities& q, const Defects&) { return intensity(q.head_width, q.tile); }},
    Quantity{"compute_intensity_attention_output", &Quantities::intensity_output, kSys, kNonNeg, "the same: attention's output",
     "dimensionality tile_block_size", [](const Quantities& q, const Defects&) { return intensity(q.dimensionality, q.tile); }},
    Quantity{"compute_intensity_MLP", &Quantities::intensity_mlp, kSys, kNonNeg, "the same: MLP",
     "hidden_layer_dimension_MLP_2 tile_block_size",
     [](const Quantities& q, const Defects&) { return intensity(q.mlp_width, q.tile); }},
    Quantity{"parallelization_degree_K_Q_V", &Quantities::degree_kqv, kSys, kNonNeg, "tiles of a product: keys, queries, values",
     "microbatch_size context hidden_layer_dimension_for_attention_sublayers tile_block_size",
     [](const Quantities& q, const Defects&) { return q.microbatch * q.context * q.head_width / (q.tile * q.tile); }},
    Quantity{"parallelization_degree_attention", &Quantities::degree_attention, kSys, kNonNeg, "the same: attention",
     "microbatch_size context hidden_layer_dimension_for_attention_sublayers tile_block_size",
     [](const Quantities& q, const Defects&) { return q.microbatch * q.context * q.head_width / (q.tile * q.tile); }},
    Quantity{"parallelization_degree_output", &Quantities::degree_output, kSys, kNonNeg, "the same: attention's output",
     "microbatch_size context dimensionality tile_block_size",
     [](const Quantities& q, const Defects&) { return q.microbatch * q.context * q.dimensionality / (q.tile * q.tile); }},
    Quantity{"parallelization_degree_MLP", &Quantities::degree_mlp, kSys, kNonNeg, "the same: MLP",
     "microbatch_size context hidden_layer_dimension_MLP_2 tile_block_size",
     [](const Quantities& q, const Defects&) { return q.microbatch * q.context * q.mlp_width / (q.tile * q.tile); }},
    Quantity{"effective_perf_perc_K_Q_V", &Quantities::effective_kqv, kSys, kNonNeg, "share of the peak by tiles: keys, queries, values",
     "parallelization_degree_K_Q_V", [](const Quantities& q, const Defects&) { return effective(q.degree_kqv); }},
    Quantity{"effective_perf_perc_attention", &Quantities::effective_attention, kSys, kNonNeg, "the same: attention",
     "parallelization_degree_attention", [](const Quantities& q, const Defects&) { return effective(q.degree_attention); }},
    Quantity{"effective_perf_perc_output", &Quantities::effective_output, kSys, kNonNeg, "the same: attention's output",
     "parallelization_degree_output", [](const Quantities& q, const Defects&) { return effective(q.degree_output); }},
    Quantity{"effective_perf_perc_MLP", &Quantities::effective_mlp, kSys, kNonNeg, "the same: MLP",
     "parallelization_degree_MLP", [](const Quantities& q, const Defects&) { return effective(q.degree_mlp); }},

    given("frequency", &Quantities::frequency, kAcc, kPos, "clock (Hz)"),
    given("number_of_cores", &Quantities::cores, kAcc, kWhole, "cores"),
    given("functional_units_per_core", &Quantities::units, kAcc, kWhole, "MAC units of a core"),
    given("functional_unit_hardware_8bit_MAC_per_cycle", &Quantities::unit_macs, kAcc, kPos, "MACs of a unit in a cycle"),
    given("non_linear_functional_units_per_core", &Quantities::nonlinear_units, kAcc, kWhole, "non-linear units of a core"),
    given("non_linear_functional_unit_hardware_8bit_NLIN_per_cycle", &Quantities::unit_nonlinears, kAcc, kPos,
          "non-linear operations of a unit in a cycle"),
    Quantity{"OPS_per_MAC", &Quantities::ops_per_mac, kAcc, kPos, "operations that a MAC counts as", "",
     [](const Quantities&, const Defects&) { return 2.0; }},
    Quantity{"peak_compute_8bit_MACs", &Quantities::peak_macs, kAcc, kPos, "MACs in a second",
     "frequency number_of_cores functional_units_per_core functional_unit_hardware_8bit_MAC_per_cycle",
     [](const Quantities& q, const Defects&) { return q.frequency * q.cores * q.units * q.unit_macs; }},
    Quantity{"peak_compute_8bit_OPS", &Quantities::peak_ops, kAcc, kPos, "operations in a second",
     "peak_compute_8bit_MACs OPS_per_MAC", [](const Quantities& q, const Defects&) { return q.peak_macs * q.ops_per_mac; }},
    Quantity{"peak_compute_8bit_NLINs", &Quantities::peak_nonlinears, kAcc, kPos, "non-linear operations in a second",
     "frequency number_of_cores non_linear_functional_units_per_core "
     "non_linear_functional_unit_hardware_8bit_NLIN_per_cycle",
     [](const Quantities& q, const Defects& d) {
       return q.frequency * (d.one_core_nonlinear ? 1 : q.cores) * q.nonlinear_units * q.unit_nonlinears;
     }},
    given("memory_capacity", &Quantities::accelerator_memory, kAcc, kPos, "memory of an accelerator (bytes); Orrery's own"),
};
// clang-format on

constexpr std::array<std::string_view, 15> kUnused = {
    "compute_intensity_weight_updates",
    "compute_intensity_NonLin_ops",
    "main_mem_bw_A100",
    "electrical_oversub_factor",
    "ocs_parallel_circuits_per_node",
    "ocs_wdm_lanes",
    "inter_node_latency_OCS",
    "ocs_reconf_per_round",
    "ocs_slot_microbatches",
    "tp_inter_algo",
    "dp_inter_algo",
    "pp_inter_use_ocs",
    "dp_overlap_mode",
    "dp_bucket_size_bytes",
    "name",
};

std::vector<int> ordered() {
  std::vector<int> order;
  std::vector<int> state(kQuantities.size(), 0);  // 1: being visited, 2: done
  const auto visit = [&](const auto& self, int i) -> void {
    if (state[i] == 2) return;
    ORRERY_CHECK(state[i] == 0, "the formulas of AMPeD's quantities depend on each other");
    state[i] = 1;
    for (const int read : reads(kQuantities[i])) self(self, read);
    state[i] = 2;
    if (kQuantities[i].formula != nullptr) order.push_back(i);
  };
  for (std::size_t i = 0; i < kQuantities.size(); ++i) visit(visit, static_cast<int>(i));
  return order;
}

}  // namespace

std::string_view category_name(Category category) {
  constexpr std::array<std::string_view, kCategories> names = {"neural_network_training_parameters",
                                                               "mapping_parameters", "system_architecture_parameters",
                                                               "accelerator_architecture_parameters"};
  return names.at(static_cast<std::size_t>(category));
}

std::span<const Quantity> quantity_table() {
  return kQuantities;
}

const Quantity* find_quantity(std::string_view name) {
  const auto found =
      std::find_if(kQuantities.begin(), kQuantities.end(), [&](const Quantity& q) { return q.name == name; });
  return found == kQuantities.end() ? nullptr : &*found;
}

std::vector<int> reads(const Quantity& quantity) {
  std::vector<int> found;
  for (std::string_view rest = quantity.reads; !rest.empty();) {
    const std::size_t space = std::min(rest.find(' '), rest.size());
    const Quantity* read = find_quantity(rest.substr(0, space));
    ORRERY_CHECK(read != nullptr, "a formula reads an unknown quantity: " + std::string(rest.substr(0, space)));
    found.push_back(static_cast<int>(read - kQuantities.data()));
    rest.remove_prefix(std::min(rest.size(), space + 1));
  }
  return found;
}

std::span<const std::string_view> unused_parameters() {
  return kUnused;
}

const std::vector<int>& calculation_order() {
  static const std::vector<int> order = ordered();
  return order;
}

void calculate(Quantities& quantities, const std::vector<bool>& keep, const Defects& defects) {
  for (const int i : calculation_order())
    if (!keep[static_cast<std::size_t>(i)])
      quantities.*kQuantities[i].field = kQuantities[i].formula(quantities, defects);
}

}  // namespace orrery::amped
