// The quantities of AMPeD's equations by AMPeD's names: those that a user states, and those that follow from others.
//
// AMPeD (imec, ISPASS 2023) describes a training run by named parameters in four categories. Some are calculated from
// others unless the user gives them a value. Here every quantity is one field of `Quantities`, and a table says
// for each its name, what values it may have and, where it can be calculated, from which others and how.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/defect.h"

namespace orrery::amped {

// AMPeD's equations have defects. Each switch restores one; all false: corrected. docs/compatibility.md lists them with
// their effects.
struct Defects {
  bool per_head_activations = false;
  bool whole_batch_traffic = false;
  bool all_stages_communicate = false;
  bool short_bubble = false;
  bool no_softmax = false;
  bool one_core_nonlinear = false;
  bool gating_of_all_layers = false;
  bool activations_over_all_ranks = false;
  bool flat_gemms = false;
  bool experts_are_free = false;
  bool gathers_alone = false;
};

inline constexpr base::Defect<Defects> kDefects[] = {
    {"per_head_activations", &Defects::per_head_activations, "amped",
     "an activation is B*S*h_k wide, as of one head, instead of B*S*D"},
    {"whole_batch_traffic", &Defects::whole_batch_traffic, "amped",
     "traffic of tensor and pipeline parallelism of the global batch, not a rank's"},
    {"all_stages_communicate", &Defects::all_stages_communicate, "amped",
     "a rank communicates for all layers, not for those of its pipeline stage"},
    {"short_bubble", &Defects::short_bubble, "amped",
     "the bubble's computation is divided by the layers and lacks weight gradients"},
    {"no_softmax", &Defects::no_softmax, "amped",
     "non-linear operations lack the scores (S^2) and the MLP's sequence length"},
    {"one_core_nonlinear", &Defects::one_core_nonlinear, "amped", "non-linear units of one core alone"},
    {"gating_of_all_layers", &Defects::gating_of_all_layers, "amped", "gating of every layer in each layer"},
    {"activations_over_all_ranks", &Defects::activations_over_all_ranks, "amped",
     "activation memory divided by the data-parallel degree twice"},
    {"flat_gemms", &Defects::flat_gemms, "amped", "mat_dims: attention's products of all heads flattened into one"},
    {"experts_are_free", &Defects::experts_are_free, "amped",
     "no all-to-all of a mixture of experts (AMPeD's form is not known)"},
    {"gathers_alone", &Defects::gathers_alone, "amped",
     "without replicas over which weights could be sharded, these are gathered all the same"},
};

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Bits, bits/s, seconds, hertz, samples, tokens and counts; memory in GB (1e9 bytes). `kUnknown` until given or
// calculated. MACs, volumes and parameters: of one layer and the whole global batch unless the name says otherwise.
struct Quantities {
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

enum class Category { kNetwork, kMapping, kSystem, kAccelerator };
inline constexpr int kCategories = 4;
std::string_view category_name(Category category);  // "mapping_parameters"

// Which values a quantity may take. Whole ones are at least 1.
enum class Domain { kWhole, kPositive, kNonNegative };

using Formula = double (*)(const Quantities&, const Defects&);

struct Quantity {
  std::string_view name;  // AMPeD's
  double Quantities::*field = nullptr;
  Category category = Category::kNetwork;
  Domain domain = Domain::kPositive;
  std::string_view description;
  std::string_view reads;     // names of the quantities that the formula reads, separated by spaces
  Formula formula = nullptr;  // null: only a user or a table knows it
};

// All of them, in AMPeD's order of categories.
std::span<const Quantity> quantity_table();

// Null when there is none of that name.
const Quantity* find_quantity(std::string_view name);

// Positions in `quantity_table` of what the formula of `quantity` reads.
std::vector<int> reads(const Quantity& quantity);

// AMPeD's parameters that these equations do not use, because no equation of AMPeD with them is known (optical
// switching, intensity of weight updates, ...).
std::span<const std::string_view> unused_parameters();

// All quantities with a formula, dependencies first; equal for all inputs.
const std::vector<int>& calculation_order();

// Calculates the unknown quantities that can be calculated. `keep[i]`: quantity i was given and is left as it is.
void calculate(Quantities& quantities, const std::vector<bool>& keep, const Defects& defects);

}  // namespace orrery::amped
