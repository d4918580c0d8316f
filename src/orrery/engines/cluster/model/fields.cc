#include "orrery/engines/cluster/model/fields.h"

#include <algorithm>

#include "orrery/engines/cluster/model/names.h"

namespace orrery::cluster {
namespace {

using base::choice_field;
using base::Count;
using base::Field;
using base::number_field;
using base::share_field;
using base::truth_field;
using base::whole_field;

// The chunks of an interleaved pipeline are a field of their own.
Field schedule(Plan& plan) {
  std::vector<std::string> names;
  for (const auto& [name, choice] : schedules()) names.push_back(name);
  return base::named_field(
      "schedule", names, [&plan] { return static_cast<std::size_t>(schedule_of(plan)); },
      [&plan](std::size_t index) { plan.schedule = schedule_of(schedules()[index].second); },
      "order of microbatches; `interleaved` is 1f1b of several chunks");
}

Field size(const char* path, Count& member, const char* text) {
  return whole_field(path, member, 1, kMostInPlan, text);
}

Field degree(const char* path, Count& member, const char* text) {
  return whole_field(path, member, 1, kMostDegree, text);
}

}  // namespace

base::Fields fields(Stack& stack) {
  return {
      choice_field("stack.attention_kernel", stack.kernel, attention_kernels(),
                   "the kernel of attention that keeps its scores on chip"),
      number_field("stack.traffic", stack.traffic, 0, 100,
                   "bytes of norms, activations and layouts, in units of those counted"),
      truth_field("stack.eager", stack.eager,
                  "RMSNorms and rotations are chains of operators through memory; false: compiled or fused"),
      number_field("stack.loss_bytes_per_logit", stack.loss_bytes, 0, 1000,
                   "memory traffic of the loss; 0: as the system's calibration has it"),
      number_field(
          "stack.host_time", stack.host, 0, 100,
          "time that the host takes to issue an operator, in units of the system's; 0: compiled programs, CUDA graphs"),
      share_field("stack.contention", stack.contention,
                  "seconds that computation loses for each second of communication beside it"),
      share_field("stack.stragglers", stack.stragglers,
                  "share of an iteration's work that replicas wait for each other, for each doubling of the nodes"),
      number_field("stack.grouped_rate", stack.grouped_rate, 0.01, 1,
                   "share of the products' rate that experts' products in one kernel reach"),
      number_field("stack.grouped_fill", stack.grouped_fill, 0, 1e6,
                   "tokens with which the products of experts that are issued one by one reach half of their rate; 0: "
                   "one kernel"),
      number_field("stack.imbalance", stack.imbalance, 1, 100, "tokens of the fullest rank of experts over the mean"),
      truth_field(
          "stack.whole_parameters", stack.whole_parameters,
          "ZeRO 1 gives whole parameters to ranks: gradients are added on all replicas, and after the step each "
          "rank broadcasts its own, one after the other"),
      truth_field("stack.node_copies", stack.node_copies,
                  "a token travels once to each node that holds any of its experts; false: once to each expert"),
      truth_field("stack.pads_experts", stack.pads_experts,
                  "experts of a capacity compute all of it; false: the tokens that they have, up to it"),
      truth_field("stack.quantised_dispatch", stack.quantised_dispatch,
                  "tokens travel to experts in the products' precision"),
      number_field(
          "stack.exchange_units", stack.exchange_units, 0, 100000,
          "units of the accelerator that the exchange with experts takes from work beside it; 0: as `contention` says"),
      truth_field("stack.fused_experts", stack.fused_experts,
                  "a rank's experts are one operator, which applies the activation and quantises its result"),
      truth_field("stack.whole_experts", stack.whole_experts,
                  "experts are spread over tp as well, rather than cut by it"),
      truth_field("stack.keeps_core", stack.keeps_core,
                  "selective recomputation keeps attention and every other product; false: all but attention"),
      number_field("stack.logit_bytes", stack.logit_bytes, 0, 100, "bytes of memory for each logit of a microbatch"),
      number_field("stack.kept_activations", stack.kept, 0.1, 10,
                   "bytes of activations that stay, in units of those counted"),
      number_field("stack.loss_chunks", stack.loss_chunks, 1, 1e6,
                   "parts in which logits are made and lost, one after the other"),
      truth_field("stack.late_gradients", stack.late_gradients,
                  "gradients get their memory when they are made, so not beside all activations"),
      truth_field("stack.ends_apart", stack.ends_apart,
                  "ZeRO 3 gathers the table and the logits' matrix each while it is used; false: both stay"),
      truth_field("stack.frozen_inputs", stack.frozen_inputs,
                  "products of frozen weights of 8 or 4 bits keep what they read"),
      truth_field("stack.offloads_all", stack.offloads_all,
                  "offloading the optimiser's state takes weights and gradients along, under ZeRO"),
      number_field("stack.state_bytes", stack.state_bytes, 0, 100,
                   "bytes of memory for the masters and moments of a parameter; 0: as the precision has it"),
      number_field("stack.reserve", stack.reserve, 0, 10,
                   "memory that the allocator keeps besides, as a share of what is in use"),
      number_field("stack.context_bytes", stack.context_bytes, 0, 1e12,
                   "bytes of memory for libraries and communicators"),
      share_field("stack.memory_error", stack.memory_error, "share by which the memory in use may be off"),
  };
}

namespace {

// What is trained, and what of it stays where.
base::Fields kept_fields(Plan& plan) {
  return {
      whole_field("lora_rank", plan.lora_rank, 0, 65536,
                  "rank of adapters (LoRA) beside frozen matrices; 0: all weights are trained"),
      number_field("frozen_bits", plan.frozen_bits, 0, 16,
                   "bits of a frozen matrix's weight: 4 (NF4), 8 or 16; 0: as `precision` has it"),
      truth_field("lora_networks", plan.lora_networks,
                  "adapters stand beside the matrices of feed-forward networks as well as of attention"),
      whole_field("recompute_layers", plan.recompute_layers, 0, kMostDegree,
                  "layers of a stage that `recompute` is for; 0: all"),
      truth_field("step_in_backward", plan.step_in_backward,
                  "the optimiser's step of a matrix follows its gradient, which is given up at once"),
      truth_field("deferred_sync", plan.deferred_sync,
                  "ZeRO 2 and 3 exchange gradients once an iteration, and keep them whole until then"),
      number_field("capacity_factor", plan.capacity_factor, 0, 1000,
                   "most tokens of an expert, in units of their mean, the others dropped; 0: as many as there are"),
      number_field("optimizer_bytes", plan.optimizer_bytes, 0, 100,
                   "bytes of memory for the masters and moments of a parameter; 0: as the stack has it"),
      share_field("offload_activations", plan.offload_activations,
                  "share of the activations that lies in the host's memory between the passes"),
      share_field("offload_optimizer", plan.offload_optimizer,
                  "share of masters and moments that lies in the host's memory"),
  };
}

}  // namespace

base::Fields fields(Plan& plan) {
  base::Fields all = {
      size("gpus", plan.gpus, "accelerators: tp x pp x cp x dp"),
      whole_field("idle", plan.idle, 0, kMostInPlan,
                  "further accelerators that do nothing; hours and dollars count them"),
      size("global_batch", plan.global_batch, "sequences per iteration"),
      size("micro_batch", plan.micro_batch, "sequences per microbatch"),
      degree("tp", plan.tp, "tensor-parallel degree"),
      degree("pp", plan.pp, "pipeline stages"),
      degree("dp", plan.dp, "data-parallel degree"),
      degree("ep", plan.ep, "expert-parallel degree, inside dp or tp x dp"),
      degree("cp", plan.cp, "context-parallel degree (ring attention)"),
      degree("interleave", plan.interleave, "chunks of layers per stage"),
      whole_field("expert_tp", plan.expert_tp, 0, kMostDegree,
                  "tensor ranks that share an expert: 1 or tp; 0: as the stack does it"),
      choice_field("order", plan.order, orders(),
                   "of the degrees on the network, from neighbouring accelerators outwards"),
      schedule(plan),
      choice_field("recompute", plan.recompute, recomputations(),
                   "what the backward pass computes again; selective: the parts that `recomputed` names"),
      truth_field("recomputed.core", plan.recomputed.core, "selective recomputation computes the attention core again"),
      truth_field("recomputed.norms", plan.recomputed.norms, "selective recomputation computes norms again"),
      truth_field("recomputed.activations", plan.recomputed.activations,
                  "selective recomputation computes activation functions of feed-forward networks again"),
      truth_field("recomputed.latents", plan.recomputed.latents,
                  "selective recomputation projects up from the latents of attention again"),
      truth_field("recomputed.networks", plan.recomputed.networks,
                  "selective recomputation computes dense feed-forward networks again, whole"),
      truth_field("recomputed.mixtures", plan.recomputed.mixtures,
                  "selective recomputation computes mixtures of experts again, whole, exchange included"),
      truth_field("recomputed.shared_experts", plan.recomputed.shared_experts,
                  "selective recomputation computes shared experts again"),
      truth_field("recomputed.expert_activations", plan.recomputed.expert_activations,
                  "selective recomputation computes activation functions of routed experts again"),
      truth_field("sequence_parallel", plan.sequence_parallel, "norms and dropouts are split over tp as well"),
      whole_field("zero", plan.zero, 0, 3,
                  "sharded over dp: 1 the optimiser's state, 2 gradients as well, 3 weights as well"),
      whole_field("shard", plan.shard, 0, kMostDegree,
                  "ranks that ZeRO shards over, replicated beyond (hybrid sharding); 0: all replicas"),
      choice_field("precision", plan.precision, precisions(), "precision of products, weights and activations"),
      truth_field("reduce_fp32", plan.reduce_fp32, "gradients travel in fp32, not in 16 bits"),
      truth_field("main_gradients_fp32", plan.main_gradients_fp32, "gradients accumulate in fp32 (Megatron)"),
      truth_field("scatter_gather", plan.scatter_gather,
                  "ranks of a tensor group send a boundary's tensor in parts; false: each sends all of it"),
      truth_field("paired_messages", plan.paired_messages,
                  "a stage sends and receives at once; false: one after the other (DeepSpeed)"),
      truth_field("fused_accumulation", plan.fused_accumulation,
                  "weight gradients are added up by the products that make them; false: in a pass of its own"),
      truth_field("converted_gradients", plan.converted_gradients,
                  "gradients are first copied to the sum's precision, where adding them up is a pass of its own "
                  "(DeepSpeed with bf16)"),
      share_field(
          "overlap.tp", plan.overlap.tp,
          "share of tensor parallelism's communication that runs beside the layer's own operators, of what can"),
      share_field("overlap.pp", plan.overlap.pp,
                  "share of messages between stages that runs beside the steady state's stages, of what can"),
      share_field("overlap.dp", plan.overlap.dp,
                  "share of the replicas' communication that runs beside the passes that make gradients or need "
                  "weights, of what can"),
      share_field("overlap.ep", plan.overlap.ep,
                  "share of the exchange with experts that runs beside the layer's operators, of what can"),
      share_field("overlap.cp", plan.overlap.cp,
                  "share of context parallelism's communication that runs beside the attention core, of what can"),
  };
  const base::Fields kept = kept_fields(plan);
  const auto after = std::find_if(all.begin(), all.end(), [](const Field& field) { return field.path == "precision"; });
  all.insert(after, kept.begin(), kept.end());
  const base::Fields software = fields(plan.stack);
  all.insert(all.end(), software.begin(), software.end());
  return all;
}

base::Fields fields(Description& of) {
  base::Fields all = workload::fields(of.sizes);
  const auto after = std::find_if(all.begin(), all.end(), [](const Field& field) { return field.path == "window"; });
  all.insert(after, whole_field("seq", of.as.seq, 1, base::kUnbounded, "tokens of a training sequence"));
  all.push_back(whole_field("document", of.as.document, 0, base::kUnbounded,
                            "tokens of the document that a token sees, of packed sequences; 0: the whole sequence"));
  all.push_back(choice_field("attention", of.as.attention, attentions(),
                             "scores go through memory, or one fused operator keeps them on chip"));
  return all;
}

}  // namespace orrery::cluster
