// The mapping: how a training run is spread over accelerators. Plain data.
#pragma once

#include <string_view>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"
#include "orrery/describe/machine/operator_model.h"
#include "orrery/engines/cluster/model/model.h"
#include "orrery/engines/cluster/model/software_stack.h"
#include "orrery/engines/cluster/model/system.h"

namespace orrery::cluster {

enum class Schedule {
  kGpipe,       // all forwards, then all backwards
  kOneFOneB,    // 1F1B; with Plan::interleave > 1 Megatron's interleaved form
  kZeroBubble,  // ZB-H1: weight gradients fill the drain (arXiv 2401.10241)
  kDualPipe,    // microbatches from both ends, forward beside backward passes (arXiv 2412.19437)
  kZbV,         // two chunks a stage, folded to a V, weight gradients apart (arXiv 2401.10241, sec. 6)
  kVHalf,       // the same with half of 1F1B's activations (arXiv 2405.15362)
  kVMin,        // with a third of them
};

// Whether stages are folded to a V: each has two chunks, the first of them those nearest to both ends of the model.
inline bool folded(Schedule schedule) {
  return schedule == Schedule::kZbV || schedule == Schedule::kVHalf || schedule == Schedule::kVMin;
}

// Whether weight gradients are put off.
inline bool defers_weights(Schedule schedule) {
  return schedule == Schedule::kZeroBubble || schedule == Schedule::kDualPipe || folded(schedule);
}

// Degrees on the network, innermost first; tensor parallelism is the innermost always.
enum class Order { kCpDpPp, kCpPpDp, kDpCpPp, kDpPpCp, kPpCpDp, kPpDpCp };

enum class Recompute { kNone, kSelective, kFull };  // selective: what Recomputed says

// What selective recomputation does again, unless the software keeps whole products (Stack::keeps_core): the attention
// core (Korthikanti 2022), and what is cheap beside what it holds (Megatron-Core's modules, DeepSeek-V3).
struct Recomputed {
  bool core = true;
  bool norms = false;        // results of norms
  bool activations = false;  // what is between the two products of a feed-forward network
  bool latents = false;      // what is projected up from the latents of attention
  bool networks = false;     // dense feed-forward networks, whole
  bool mixtures = false;     // mixtures of experts, whole: router, exchange, experts, shared experts
  bool shared_experts = false;
  bool expert_activations = false;  // as `activations`, of routed experts alone
};

// Degrees multiply: gpus = tp * cp * dp * pp. Experts are spread over ep of the cp * dp ranks that share a stage.
// Placement on the network, innermost first: tp, then cp, dp and pp in their order; ep goes over the ranks of a stage
// as they are numbered. Ranks with neighbouring numbers share a node (placement.h).
struct Plan {
  base::Count gpus = 1;
  base::Count idle = 0;          // accelerators beside them that do nothing and are paid for
  base::Count global_batch = 1;  // sequences per iteration
  base::Count micro_batch = 1;   // sequences per microbatch
  base::Count tp = 1, pp = 1, dp = 1, ep = 1, cp = 1;
  base::Count interleave = 1;  // model chunks per stage
  base::Count expert_tp = 0;   // tensor-parallel degree of experts, 1 or tp; 0: as the stack does it
  Order order = Order::kCpDpPp;
  Schedule schedule = Schedule::kOneFOneB;
  Recompute recompute = Recompute::kNone;
  Recomputed recomputed;
  bool sequence_parallel = false;
  int zero = 0;  // 0 to 3: what is sharded over dp: nothing, optimiser state, + gradients, + weights
  machine::Precision precision = machine::Precision::kBf16;
  bool reduce_fp32 = false;         // gradients travel in fp32, not in 16 bits
  bool main_gradients_fp32 = true;  // gradients accumulate in fp32 (Megatron), not in the precision of the weights
  bool scatter_gather = true;  // ranks of a tensor group send a boundary's tensor in parts; false: each sends all of it
  bool paired_messages = true;  // a stage sends to a neighbour and receives from it at once; false: first the one, then
                                // the other (DeepSpeed)
  bool fused_accumulation = true;  // weight gradients are added up by the products that make them, not in a pass of
                                   // its own after them
  bool converted_gradients =
      false;                  // that pass first copies the gradients to the sum's precision (DeepSpeed with bf16)
  base::Count shard = 0;      // ranks that ZeRO shards over, replicated beyond (HSDP); 0: all replicas
  base::Count lora_rank = 0;  // of adapters beside frozen matrices; 0: all weights are trained
  double frozen_bits = 0;     // of a weight of frozen matrices: 4 (NF4, scales quantised as well), 8; 0: as `precision`
  bool lora_networks = true;  // adapters stand beside feed-forward networks' matrices, too
  base::Count recompute_layers = 0;  // of a stage that `recompute` is for; 0: all
  bool step_in_backward = false;     // a gradient is used up as soon as it is made
  bool deferred_sync = false;        // sharded gradients are exchanged once an iteration, and whole until then
  double capacity_factor = 0;      // most tokens of an expert, in units of their mean: the rest is dropped; 0: as many
                                   // as there are
  double optimizer_bytes = 0;      // of memory for a parameter's masters and moments; 0: as the stack has it
  double offload_activations = 0;  // share that lies in the host's memory between the passes
  double offload_optimizer = 0;    // share of masters and moments there
  Overlap overlap;
  Stack stack;  // the software
};

// Tensor ranks that share an expert. Where a stack leaves experts whole, they are spread over tp as well as over cp x
// dp.
inline base::Count expert_tp(const Plan& plan) {
  if (plan.expert_tp > 0) return plan.expert_tp;
  const bool whole = plan.stack.whole_experts || plan.dp * plan.cp % plan.ep != 0;
  return whole && plan.ep > 1 && plan.tp * plan.dp * plan.cp % plan.ep == 0 ? 1 : plan.tp;
}

// Chunks of layers that a stage has.
inline base::Count chunks(const Plan& plan) {
  return folded(plan.schedule) && plan.pp > 1 ? 2 : plan.interleave;
}

// The stage that has the logits.
inline base::Count logits_stage(const Plan& plan) {
  return folded(plan.schedule) ? 0 : plan.pp - 1;
}

// Stages of which an accelerator has the weights: two where a pipeline runs in both directions. So many accelerators of
// a pipeline have those of a stage.
inline base::Count held_stages(const Plan& plan) {
  return plan.schedule == Schedule::kDualPipe && plan.pp > 1 ? 2 : 1;
}

// Ranks that hold the same weights; the same experts.
inline base::Count replicas(const Plan& plan) {
  return plan.dp * plan.cp * held_stages(plan);
}
inline base::Count expert_replicas(const Plan& plan) {
  return plan.tp * plan.dp * plan.cp * held_stages(plan) / (plan.ep * expert_tp(plan));
}

// Ranks that hold a part each of what ZeRO shards; of experts' parameters.
inline base::Count shards(const Plan& plan) {
  return plan.shard > 0 ? plan.shard : replicas(plan);
}
inline base::Count expert_shards(const Plan& plan) {
  const base::Count all = expert_replicas(plan);
  return plan.shard > 0 && plan.shard < all ? plan.shard : all;
}

// Whether a matrix of a layer is a dense feed-forward network's; whether adapters stand beside it.
inline bool of_network(std::string_view matrix) {
  return matrix.starts_with("FF") || matrix.starts_with("shared-");
}
inline bool adapted(const Plan& plan, std::string_view matrix) {
  return plan.lora_networks || !of_network(matrix);
}

// Rows that experts compute, in units of the tokens that visit them: on average, which is what they keep and exchange,
// and on the fullest rank. What exceeds a capacity is dropped; software that pads brings every expert up to it.
inline double expert_rows(const Plan& plan, double load = 1) {
  if (plan.capacity_factor <= 0) return load;
  return plan.stack.pads_experts || plan.capacity_factor < load ? plan.capacity_factor : load;
}
inline double expert_load(const Plan& plan) {
  return expert_rows(plan, plan.stack.imbalance);
}

// Share of the layers that `recompute` is for.
inline double share_again(const Plan& plan, base::Count layers) {
  if (plan.recompute_layers == 0 || plan.recompute == Recompute::kNone) return 1;
  const double stage = static_cast<double>(layers) / static_cast<double>(plan.pp);
  return static_cast<double>(plan.recompute_layers) < stage ? static_cast<double>(plan.recompute_layers) / stage : 1;
}

// Bytes of a weight that is trained no further, of a matrix of a layer. NF4: blocks of 64 have a scale in 8 bits, 256
// of those one in 32 (arXiv 2305.14314).
inline double frozen_bytes(const Plan& plan, double unquantised) {
  if (plan.frozen_bits <= 0 || plan.frozen_bits >= 16) return unquantised;
  return plan.frozen_bits <= 4 ? (4 + 8.0 / 64 + 32.0 / (64 * 256)) / 8 : plan.frozen_bits / 8;
}

// Microbatches that every pipeline runs in an iteration, and how many whole ones they come to: the last can be smaller.
inline base::Count microbatches(const Plan& plan) {
  return base::ceil_divide(plan.global_batch, plan.dp * plan.micro_batch);
}
inline double whole_microbatches(const Plan& plan) {
  return static_cast<double>(plan.global_batch) / static_cast<double>(plan.dp * plan.micro_batch);
}

// Microbatches that go through a chunk of an interleaved stage before those of the next chunk do; 0: the software has
// no such turns for as many as there are.
base::Count microbatch_group(const Plan& plan);

// Reports every reason why `plan` cannot run `model` on `system`, with the arithmetic: O1300 to O1319.
void check(const Model& model, const System& system, const Plan& plan, base::Diagnostics& found);

// Those of the reasons that no model enters: sizes, degrees that do not multiply to the accelerators, a batch that they
// do not share, more accelerators than the system has, a precision that they do not compute in.
void check_spread(const System& system, const Plan& plan, base::Diagnostics& found);

// The same as check() as a predicate, for searches: true if and only if `check` finds no error.
bool possible(const Model& model, const System& system, const Plan& plan);

}  // namespace orrery::cluster
