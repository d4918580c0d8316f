// Bytes that training keeps on one accelerator.
//
// State, bytes a parameter at 16-bit mixed precision: 2 weights, 4 gradients (2 where they accumulate in 16 bits),
// 12 optimiser (fp32 copy, two moments): 18, Megatron-LM's figure. fp32 and tf32: 4, 4, 8. ZeRO (arXiv 1910.02054)
// divides the optimiser's part (1), also the gradients (2), also the weights (3) by the data-parallel degree; context
// parallelism replicates weights and counts as data parallelism here.
//
// Activations of one layer and one microbatch, 16 bits, s local tokens of a sequence, t = tp, u = t with sequence
// parallelism and 1 without (Korthikanti 2022, table 2; sbh = s b h):
//
//   input of norms and of QKV and feed-forward input     8 sbh / u      (2 x 2 norm inputs, 2 x 2 products' inputs)
//   dropout masks                                         2 sbh / u
//   Q, K, V, core's result                                8 sbh / t      (2 bytes of each one's own width)
//   softmax's input and result, its dropout mask          5 a s^2 b / t  (flash: 4 a s b / t, row sums)
//   feed-forward: inner width before and after            4 s b f / t    (gated: gate, up and product, 6 s b f / t)
//
// For a plain GPT their sum is sbh(10 + 24/t + 5as/(ht)). Selective recomputation drops the scores, full recomputation
// all but the layer's input. 1F1B's first stage keeps min(m, p) microbatches of its layers, GPipe all m, interleaved
// schedules p + (p-1)/v, in microbatches of all its chunks.
//
// Stages between the first and the last one differ by their layers and by the microbatches that they hold, never more
// than stages of the same length before them. So one of four is the fullest: the first, which has the embedding; the
// second (Llama 3's holds 8 layers of 15 microbatches, its first 7 of 16); the first of the shorter ones between, where
// dense layers among experts bring back more; the last, which has the logits. Cost: some 60 ns.
#include "orrery/cluster/memory.h"

#include <algorithm>

#include "orrery/cluster/stages.h"

namespace orrery::cluster {
namespace {

struct StateBytes {
  double weight, gradient, optimizer;
};

StateBytes state_bytes(const Plan& plan) {
  if (machine::bytes_per_element(plan.precision) == 4) return {4, 4, 8};
  return {2, plan.main_gradients_fp32 ? 4.0 : 2.0, 12};
}

double element_bytes(const Plan& plan) {
  return machine::bytes_per_element(plan.precision) == 4 ? 4 : 2;
}

// Tokens of one microbatch on one context-parallel rank.
double local_tokens(const Model& model, const Plan& plan) {
  return static_cast<double>(plan.micro_batch) * model.seq / plan.cp;
}

double core_bytes(const Model& model, const Plan& plan) {
  const double rows = local_tokens(model, plan) * model.heads / plan.tp;
  if (model.attention == Attention::kFlash) return 4 * rows;
  return (2 * element_bytes(plan) + (model.dropout ? 1 : 0)) * rows * model.seq;
}

double all_bytes(const Model& model, const Plan& plan, bool experts) {
  const LayerShape shape = layer_shape(model);
  const double e = element_bytes(plan);
  const double tokens = local_tokens(model, plan);
  const double t = plan.tp;
  const double u = plan.sequence_parallel ? t : 1;
  double bytes = tokens * model.hidden * (4 * e + (model.dropout ? 2 : 0)) / u;
  bytes += tokens * e * (shape.query + shape.value + shape.key_value + shape.key_value) / t;
  if (model.latent.kv_rank > 0) bytes += tokens * e * (model.latent.q_rank + model.latent.kv_rank) / u;
  const double inner = model.gated ? 3 : 2;
  if (experts) {
    const Experts& mixture = model.experts;
    bytes += tokens * e * (mixture.top_k + mixture.shared) * inner * mixture.ffn / t;
    bytes += tokens * e * mixture.top_k * 2 * model.hidden / u;  // what the experts read and what is weighted
    bytes += tokens * 4 * mixture.count / u;                     // router
  } else {
    bytes += tokens * e * inner * model.ffn / t;
  }
  return bytes + core_bytes(model, plan);
}

// Bytes of one layer and one microbatch.
struct LayerBytes {
  double kept = 0;          // until the backward pass
  double brought_back = 0;  // by full recomputation
};

LayerBytes layer_bytes(const Model& model, const Plan& plan, bool experts) {
  const double all = all_bytes(model, plan, experts);
  if (plan.recompute == Recompute::kNone) return {all, 0};
  if (plan.recompute == Recompute::kSelective) return {all - core_bytes(model, plan), 0};
  const double u = plan.sequence_parallel ? plan.tp : 1;
  const double input = element_bytes(plan) * local_tokens(model, plan) * model.hidden / u;
  return {input, all - input};
}

// What all stages have in common.
struct Layers {
  LayerShape shape;
  LayerBytes dense, experts;
};

Layers layers_of(const Model& model, const Plan& plan) {
  Layers layers{layer_shape(model), layer_bytes(model, plan, false), {}};
  if (model.experts.count > 0) layers.experts = layer_bytes(model, plan, true);
  return layers;
}

// Microbatches whose activations a stage holds at most.
double held_microbatches(const Plan& plan, base::Count stage) {
  const auto m = static_cast<double>(microbatches(plan));
  const auto p = static_cast<double>(plan.pp);
  const auto behind = static_cast<double>(plan.pp - stage);  // stages from this one on
  const auto v = static_cast<double>(plan.interleave);
  if (plan.schedule == Schedule::kGpipe) return m;
  // Deferred weight gradients keep their activations: every stage holds as many as the first.
  if (plan.schedule == Schedule::kZeroBubble) return std::min(m, p);
  if (plan.interleave > 1) return std::min(m, ((v - 1) * p + 2 * behind - 1) / v);
  return std::min(m, behind);
}

StageParameters stage_parameters(const Model& model, const Plan& plan, const LayerShape& shape,
                                 const StageLayers& layers, base::Count stage) {
  const double h = model.hidden;
  const double t = plan.tp;
  StageParameters params;
  params.dense =
      (layers.dense + layers.experts) * (shape.attention_params + shape.small_params + model.other_layer_params) / t;
  params.dense += layers.dense * shape.feed_forward_params / t;
  if (layers.experts > 0) {
    params.dense += layers.experts * (model.experts.shared * shape.expert_params / t + h * model.experts.count);
    params.experts = layers.experts * shape.expert_params * model.experts.count / plan.ep / t;
  }
  // The tied matrix stands on the first and on the last stage.
  if (stage == 0) params.dense += h * model.vocab / t + (model.learned_positions ? h * position_rows(model) : 0);
  if (stage == plan.pp - 1 && (plan.pp > 1 || !model.tied_embedding)) params.dense += h * model.vocab / t;
  if (stage == plan.pp - 1) params.dense += model.other_params;
  return params;
}

Memory stage_memory(const Model& model, const Plan& plan, const Layers& each, base::Count stage) {
  const StageLayers layers = stage_layers(model, plan.pp, stage);
  const StageParameters params = stage_parameters(model, plan, each.shape, layers, stage);
  const StateBytes state = state_bytes(plan);
  const double ranks = static_cast<double>(plan.dp) * plan.cp;
  const double expert_ranks = ranks / plan.ep;
  const auto bytes = [&](double of_each, int sharded_from) {
    return plan.zero >= sharded_from ? of_each * (params.dense / ranks + params.experts / expert_ranks)
                                     : of_each * (params.dense + params.experts);
  };
  Memory memory;
  memory.weights = bytes(state.weight, 3);
  memory.gradients = bytes(state.gradient, 2);
  memory.optimizer = bytes(state.optimizer, 1);

  const double held = held_microbatches(plan, stage);
  memory.activations = held * (layers.dense * each.dense.kept + layers.experts * each.experts.kept);

  const double e = element_bytes(plan);
  const double u = plan.sequence_parallel ? plan.tp : 1;
  const double boundary = local_tokens(model, plan) * model.hidden / u;
  if (plan.pp > 1) memory.buffers += 4 * e * boundary;                                    // one in, one out, each way
  if (stage == 0 && model.dropout && model.vocab > 0) memory.buffers += held * boundary;  // the embedding's mask
  if (stage == plan.pp - 1 && model.vocab > 0) {
    // Input of the last norm and of the logits; logits in 16 bits and, for the loss, in 32.
    memory.buffers += 2 * e * boundary + (e + 4) * local_tokens(model, plan) * model.vocab / plan.tp;
  }
  // Activations that recomputation restores, one layer at a time: those of the larger kind of layer, or the mean where
  // a stage has less than one.
  const bool mixed = layers.experts > 0;
  if (plan.recompute == Recompute::kFull) {
    const double share = std::min(1.0, layers.experts);
    memory.buffers += (1 - share) * each.dense.brought_back + share * each.experts.brought_back;
  }
  if (plan.recompute == Recompute::kSelective) memory.buffers += core_bytes(model, plan);
  if (mixed) memory.buffers += 2 * e * local_tokens(model, plan) * model.experts.top_k * model.hidden / u;
  if (plan.zero == 3) {
    // Two layers' weights gathered, the one in use and the next.
    const double gathered = 2 / std::max(layers.dense + layers.experts, 2.0);
    memory.buffers += gathered * (state.weight * (params.dense + params.experts) - memory.weights);
  }
  return memory;
}

}  // namespace

double activation_bytes_per_layer(const Model& model, const Plan& plan, bool experts) {
  return layer_bytes(model, plan, experts).kept;
}

StageParameters stage_parameters(const Model& model, const Plan& plan, base::Count stage) {
  return stage_parameters(model, plan, layer_shape(model), stage_layers(model, plan.pp, stage), stage);
}

Memory stage_memory(const Model& model, const Plan& plan, base::Count stage) {
  return stage_memory(model, plan, layers_of(model, plan), stage);
}

Memory memory(const Model& model, const Plan& plan) {
  const Layers each = layers_of(model, plan);
  Memory fullest = stage_memory(model, plan, each, 0);
  const auto compare = [&](base::Count stage) {
    const Memory other = stage_memory(model, plan, each, stage);
    if (other.total() > fullest.total()) fullest = other;
  };
  const base::Count last = plan.pp - 1;
  if (last > 1) compare(1);
  if (plan.recompute == Recompute::kFull && model.experts.count > 0) {
    const base::Count shorter = 1 + longer_stages_between(model.layers, plan.pp);
    if (shorter > 1 && shorter < last) compare(shorter);
  }
  if (last > 0) compare(last);
  return fullest;
}

std::string_view name(MemoryTerm term) {
  switch (term) {
    case MemoryTerm::kWeights:
      return "weights";
    case MemoryTerm::kGradients:
      return "gradients";
    case MemoryTerm::kOptimizer:
      return "optimizer";
    case MemoryTerm::kActivations:
      return "activations";
    case MemoryTerm::kBuffers:
      break;
  }
  return "buffers";
}

MemoryTerm Memory::largest() const {
  const double terms[] = {weights, gradients, optimizer, activations, buffers};
  return static_cast<MemoryTerm>(std::max_element(std::begin(terms), std::end(terms)) - std::begin(terms));
}

}  // namespace orrery::cluster
