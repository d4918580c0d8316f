// The quantities of AMPeD's equations by AMPeD's names: those that a user states, and those that follow from others.
//
// AMPeD (imec, ISPASS 2023) describes a training run by named parameters in four categories. Some are calculated from
// others unless the user gives them a value. Here every quantity is one field of `AmpedQuantities`, and a table says
// for each its name, what values it may have and, where it can be calculated, from which others and how.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::cluster {

// AMPeD's equations have defects. Each switch brings one back; all false: mended. docs/compatibility.md lists them with
// their effects.
struct AmpedDefects {
  bool per_head_activations = false;    // an activation is B*S*h_k wide, as of one head, instead of B*S*D
  bool whole_batch_traffic = false;     // traffic of tensor and pipeline parallelism of the global batch, not a rank's
  bool all_stages_communicate = false;  // a rank communicates for all layers, not for those of its pipeline stage
  bool short_bubble = false;            // the bubble's computation is divided by the layers and lacks weight gradients
  bool no_softmax = false;              // non-linear operations lack the scores (S^2) and the MLP's sequence length
  bool one_core_nonlinear = false;      // non-linear units of one core alone
  bool gating_of_all_layers = false;    // gating of every layer in each layer
  bool activations_over_all_ranks = false;  // activation memory divided by the data-parallel degree twice
  bool flat_gemms = false;                  // mat_dims: attention's products of all heads flattened into one
  bool experts_are_free = false;            // no all-to-all of a mixture of experts (AMPeD's form is not known)

  static AmpedDefects all();
};

// The names of the switches, such as "per_head_activations", and the switch of a name; null: no such switch.
std::vector<std::string> amped_defect_names();
bool* amped_defect(AmpedDefects& defects, std::string_view name);

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Bits, bits/s, seconds, hertz, samples, tokens and counts; memory in GB (1e9 bytes). `kUnknown` until given or
// calculated. MACs, volumes and parameters: of one layer and the whole global batch unless the name says otherwise.
struct AmpedQuantities {
  // neural network and training
  double layers = kUnknown, dimensionality = kUnknown, attention_heads = kUnknown, head_width = kUnknown;
  double key_query_value_length = kUnknown, mlp_width = kUnknown, mlp_width_1 = kUnknown, context = kUnknown;
  double summarization_len = kUnknown, tokens_to_train = kUnknown, batch_size = kUnknown, vocabulary = kUnknown;
  double experts = kUnknown, weight_bits = kUnknown, activation_bits = kUnknown, gradient_bits = kUnknown;
  double optimizer_bits = kUnknown, bigger_tile = kUnknown;
  double samples = kUnknown, batches = kUnknown, minibatch = kUnknown, microbatch = kUnknown;
  double query_macs = kUnknown, key_macs = kUnknown, value_macs = kUnknown, self_attention_macs = kUnknown;
  double multihead_macs = kUnknown, attention_output_macs = kUnknown, attention_macs = kUnknown, mlp_macs = kUnknown;
  double gating_macs = kUnknown, decoder_macs = kUnknown, decoder_flag = kUnknown;
  double attention_nonlinear = kUnknown, mlp_nonlinear = kUnknown, activation_volume = kUnknown;
  double error_volume = kUnknown;
  double query_weight = kUnknown, key_weight = kUnknown, value_weight = kUnknown, projection_weight = kUnknown;
  double bias_1 = kUnknown, bias_2 = kUnknown, scale_1 = kUnknown, scale_2 = kUnknown;
  double layer_parameters = kUnknown, expert_parameters_each = kUnknown, moe_layers = kUnknown, expert_flag = kUnknown;
  double gating_parameters = kUnknown, expert_parameters = kUnknown, total_parameters = kUnknown;
  double embedding_parameters = kUnknown;
  // mapping
  double dp_intra = kUnknown, dp_inter = kUnknown, tp_intra = kUnknown, tp_inter = kUnknown, pp_intra = kUnknown;
  double pp_inter = kUnknown, dp = kUnknown, tp = kUnknown, pp = kUnknown, microbatches = kUnknown;
  double node_accelerators_required = kUnknown, accelerators_required = kUnknown, nodes_required = kUnknown;
  double weights_gb = kUnknown, activations_gb = kUnknown, memory_gb = kUnknown, least_memory_gb = kUnknown;
  double tile = kUnknown;
  // system
  double accelerator_bandwidth = kUnknown, accelerator_latency = kUnknown, node_latency = kUnknown;
  double card_bandwidth = kUnknown, node_accelerators = kUnknown, cards = kUnknown, node_bandwidth = kUnknown;
  double intra_node_bandwidth = kUnknown, nodes = kUnknown, accelerators = kUnknown;
  double intensity_kqv = kUnknown, intensity_attention = kUnknown, intensity_output = kUnknown;
  double intensity_mlp = kUnknown;
  double degree_kqv = kUnknown, degree_attention = kUnknown, degree_output = kUnknown, degree_mlp = kUnknown;
  double effective_kqv = kUnknown, effective_attention = kUnknown, effective_output = kUnknown;
  double effective_mlp = kUnknown;
  // accelerator
  double frequency = kUnknown, cores = kUnknown, units = kUnknown, unit_macs = kUnknown, nonlinear_units = kUnknown;
  double unit_nonlinears = kUnknown, ops_per_mac = kUnknown, peak_macs = kUnknown, peak_ops = kUnknown;
  double peak_nonlinears = kUnknown, accelerator_memory = kUnknown;
};

enum class AmpedCategory { kNetwork, kMapping, kSystem, kAccelerator };
inline constexpr int kAmpedCategories = 4;
std::string_view amped_category_name(AmpedCategory category);  // "mapping_parameters"

// Which values a quantity may take. Whole ones are at least 1.
enum class AmpedDomain { kWhole, kPositive, kNonNegative };

using AmpedFormula = double (*)(const AmpedQuantities&, const AmpedDefects&);

struct AmpedQuantity {
  std::string_view name;  // AMPeD's
  double AmpedQuantities::*field = nullptr;
  AmpedCategory category = AmpedCategory::kNetwork;
  AmpedDomain domain = AmpedDomain::kPositive;
  std::string_view description;
  std::string_view reads;          // names of the quantities that the formula reads, separated by spaces
  AmpedFormula formula = nullptr;  // null: only a user or a table knows it
};

// All of them, in AMPeD's order of categories.
std::span<const AmpedQuantity> amped_quantities();

// Null when there is none of that name.
const AmpedQuantity* find_amped_quantity(std::string_view name);

// Positions in `amped_quantities` of what the formula of `quantity` reads.
std::vector<int> amped_reads(const AmpedQuantity& quantity);

// AMPeD's parameters that these equations do not use, because no equation of AMPeD with them is known (optical
// switching, intensity of weight updates, ...).
std::span<const std::string_view> unused_amped_parameters();

// All quantities with a formula, dependencies first; equal for all inputs.
const std::vector<int>& amped_order();

// Calculates what is unknown and can be known. `keep[i]`: quantity i was given and is left as it is.
void calculate(AmpedQuantities& quantities, const std::vector<bool>& keep, const AmpedDefects& defects);

}  // namespace orrery::cluster
