// Bytes that training keeps on one accelerator.
//
// State, bytes a parameter at 16-bit mixed precision: 2 weights, 4 gradients (2 where they accumulate in 16 bits),
// 12 optimiser (fp32 copy, two moments): 18, Megatron-LM's figure. fp32 and tf32: 4, 4, 8. ZeRO (arXiv 1910.02054)
// divides the optimiser's part (1), also the gradients (2), also the weights (3) by the data-parallel degree; context
// parallelism replicates weights and counts as data parallelism here.
//
// Of adapters of rank r (LoRA, arXiv 2106.09685) beside the k x n parts of a rank's dense matrices r (k + n) parameters
// have all of that, and what is frozen, routed experts among it, its weights alone.
//
// Activations of one layer and one microbatch, 16 bits, s local tokens of a sequence, t = tp, u = t with sequence
// parallelism and 1 without (Korthikanti 2022, table 2; sbh = s b h):
//
//   input of norms and of QKV and feed-forward input     8 sbh / u      (2 x 2 norm inputs, 2 x 2 products' inputs)
//   dropout masks                                         2 sbh / u
//   Q, K, V, core's result                                8 sbh / t      (2 bytes of each one's own width)
//   softmax's result; dropout's mask and result           5 a s^2 b / t  (no dropout: 2; flash: 4 a s b / t, row sums)
//   feed-forward: inner width before and after            4 s b f / t    (gated: gate, up and product, 6 s b f / t)
//   scan: what is projected, convolved, its result        2 s b (P + C + R) / t
//
// For a plain GPT their sum is sbh(10 + 24/t + 5as/(ht)). Selective recomputation drops the scores, full recomputation
// all but the layer's input. 1F1B's first stage keeps min(m, p) microbatches of its layers, GPipe all m, interleaved
// schedules ((v-1) g + 2p - 1)/v in microbatches of all its chunks, g at a time through a chunk (p + (p-1)/v for g =
// p), DualPipe p + 1 (its authors' figure), of weights of two stages.
//
// The first two rows are of a layer of two parts; each part has half of them.
//
// Of frozen matrices no gradient of the weights is made, so only adapters keep inputs. What recomputation restores and
// what the loss makes are not there at the same time; the larger counts.
//
// Stages between the first and the last one differ by their layers and by the microbatches that they hold, never more
// than stages of the same length before them. So one of four is the fullest: the first, which has the embedding; the
// second (Llama 3's holds 8 layers of 15 microbatches, its first 7 of 16); the first of the shorter ones between, where
// dense layers among experts bring back more; the last, which has the logits. Cost: some 60 ns.
#include "orrery/engines/cluster/model/memory.h"

#include <algorithm>
#include <array>

#include "orrery/engines/cluster/layer/eager_experts.h"
#include "orrery/engines/cluster/layer/eager_norms.h"
#include "orrery/engines/cluster/model/networks_again.h"
#include "orrery/engines/cluster/pipeline/stages.h"
#include "orrery/engines/cluster/pipeline/v_schedules.h"

namespace orrery::cluster {
namespace {

struct StateBytes {
  double weight, gradient, optimizer;
};

StateBytes state_bytes(const Plan& plan) {
  if (machine::bytes_per_element(plan.precision) == 4) return {4, 4, 8};
  const double optimizer = plan.optimizer_bytes > 0     ? plan.optimizer_bytes
                           : plan.stack.state_bytes > 0 ? plan.stack.state_bytes
                                                        : 12;
  // Sharded masters are the weights: what is in 16 bits is gathered, and counted among the buffers. Where gradients are
  // added up in 16 bits there are no masters.
  const double weight = plan.zero == 3 && plan.stack.state_bytes > 0 && plan.main_gradients_fp32 ? 0 : 2;
  return {weight, plan.main_gradients_fp32 ? 4.0 : 2.0, optimizer};
}

// Where nothing is summed in 32 bits, logits stay in 16 as well.
double logit_bytes(const Plan& plan) {
  const bool pure = !plan.main_gradients_fp32 && plan.stack.state_bytes > 0;
  return plan.stack.logit_bytes * (pure ? 2.0 / 3 : 1);
}

double element_bytes(const Plan& plan) {
  return machine::bytes_per_element(plan.precision) == 4 ? 4 : 2;
}

// Of what a product reads and keeps for its weights' gradient: quantised where kernels of today quantise it.
double operand_bytes(const Plan& plan) {
  const bool narrow = machine::quantised(plan.precision) && kin(plan.stack.name) == StackName::kMegatronCore;
  return narrow ? machine::bytes_per_element(plan.precision) : element_bytes(plan);
}

// Tokens of one microbatch on one context-parallel rank.
double local_tokens(const Plan& plan, base::Count seq) {
  return static_cast<double>(plan.micro_batch) * seq / plan.cp;
}

double core_bytes(const Model& model, const Plan& plan, const LayerKind& kind) {
  double bytes = 0;
  for (const Core& core : kind.cores) {
    const double rows = local_tokens(plan, kind.seq) * core.heads / plan.tp;
    if (model.attention == Attention::kFlash)
      bytes += 4 * rows;
    else
      bytes += (element_bytes(plan) + (model.dropout ? element_bytes(plan) + 1 : 0)) * rows * core.seen;
  }
  return bytes;
}

// Elements of a token that the routed experts keep.
double kept_by_experts(const LayerKind& kind) {
  const Mixture& mixture = kind.mixture;
  return (mixture.up > mixture.inner ? 3.0 : 2.0) * static_cast<double>(mixture.inner) *
         static_cast<double>(mixture.top_k);
}

// Of a token, besides what is between the experts' products: what they read, of software that weights results (others
// weight what the second product reads) those, and the router's.
double mixture_bytes(const Plan& plan, const LayerKind& kind) {
  const double weighted = kin(plan.stack.name) == StackName::kMegatron2021 ? element_bytes(plan) : 0;
  const Mixture& mixture = kind.mixture;
  const double latents = mixture.width < kind.width ? 2 * operand_bytes(plan) * mixture.width : 0;
  return (operand_bytes(plan) + weighted) * expert_rows(plan) * mixture.top_k * mixture.width + latents +
         4.0 * mixture.count;
}

double all_bytes(const Model& model, const Plan& plan, const LayerKind& kind, double core) {
  const double e = element_bytes(plan);
  const double tokens = local_tokens(plan, kind.seq);
  const double t = plan.tp;
  const double u = plan.sequence_parallel ? t : 1;
  const double operand = operand_bytes(plan);
  double bytes = tokens * kind.width * (kind.parts * (e + operand + (model.dropout ? 1 : 0))) / u;
  for (const Core& each : kind.cores) {
    bytes += tokens * e * each.own / t;
    if (!each.borrowed) bytes += (each.of_source ? local_tokens(plan, kind.source) : tokens) * e * each.keys / t;
  }
  if (kind.latents > 0) bytes += tokens * e * kind.latents / u;
  if (operand < e && !kind.cores.empty()) bytes += tokens * operand * kind.cores[0].own / 2 / t;  // the core's result
  const double product = kind.kept_inner * (1 - operand / e) * kind.second_operand;
  bytes += tokens * e * (kind.kept_inner - product + kind.scan.projected + kind.scan.result + kind.scan.channels) / t;
  if (kind.mixture.count > 0) {
    bytes += tokens * mixture_bytes(plan, kind) / u;
    bytes += tokens * e * kept_by_limits(plan, kind);
    bytes += tokens * e * (expert_rows(plan) - 1) * kept_by_experts(kind) / t;
  }
  // A frozen product needs its weights for its gradient; its input is kept for adapters alone, and by some software.
  const bool kept = plan.stack.frozen_inputs && frozen_bytes(plan, e) < e;
  if (plan.lora_rank > 0 && !plan.lora_networks && !kept && kind.inner > 0 && kind.mixture.count == 0)
    bytes -= tokens * (operand * kind.width / u + e * kind.kept_inner * kind.second_operand / t);
  return bytes + core;
}

// What stays where every other product's result, attention's and the layer's input do.
double kept_by_operator(const Plan& plan, const LayerKind& kind) {
  const double e = element_bytes(plan);
  const double tokens = local_tokens(plan, kind.seq);
  const double t = plan.tp;
  const double u = plan.sequence_parallel ? t : 1;
  double results = 0, cores = 0;
  for (const Matrix& m : kind.matrices) {
    const double columns =
        static_cast<double>(m.out) + static_cast<double>(m.kv_heads) * static_cast<double>(m.kv_width);
    results += m.split == Split::kColumns ? columns / t : columns / u;
  }
  for (const Core& core : kind.cores) cores += core.own / 2 / t;
  if (kind.mixture.count > 0)
    results +=
        static_cast<double>(kind.mixture.top_k) * (static_cast<double>(kind.mixture.up) / t + kind.mixture.width / u);
  return tokens * e * (kind.width / u + results / 2 + cores);
}

// What selective recomputation does not keep besides the attention core.
double recomputed_bytes(const Plan& plan, const LayerKind& kind) {
  const double e = element_bytes(plan);
  const double tokens = local_tokens(plan, kind.seq);
  const double u = plan.sequence_parallel ? plan.tp : 1;
  double bytes = 0;
  const NetworksAgain again = networks_again(plan.recomputed, kind, expert_rows(plan));
  if (plan.recomputed.norms) bytes += kind.parts * kind.width * operand_bytes(plan) / u;
  // What they are made of waits as products' operands do (Megatron-Core's activation_func_fp8_input_store; arXiv
  // 2412.19437, section 3.3.3).
  const double result = kind.second_operand * operand_bytes(plan);
  const double input = (1 - kind.second_operand) * (e - operand_bytes(plan));
  const double made = (1 - kind.second_operand) * e;
  bytes += (again.activated * (result + input) + again.whole * (result + made)) / static_cast<double>(plan.tp);
  if (again.limits_again) bytes += e * kept_by_limits(plan, kind);
  if (again.experts) bytes += mixture_bytes(plan, kind) / u;
  if (plan.recomputed.latents && kind.latent)
    for (const Core& core : kind.cores) bytes += e * (core.own / 2 + core.keys) / static_cast<double>(plan.tp);
  return tokens * bytes;
}

// Bytes of one layer and one microbatch.
struct LayerBytes {
  double kept = 0;          // until the backward pass
  double brought_back = 0;  // by full recomputation
  double core = 0;          // by selective recomputation
  double whole = 0;         // while its own backward pass runs
};

// Of a layer that `recompute` is for.
LayerBytes again_bytes(const Plan& plan, const LayerKind& kind, double all, double core) {
  if (plan.recompute == Recompute::kSelective && plan.stack.keeps_core) {
    const double kept = kept_by_operator(plan, kind) + core;
    return {std::min(kept, all), std::max(0.0, all - kept), 0};
  }
  if (plan.recompute == Recompute::kSelective) {
    const double again = recomputed_bytes(plan, kind);
    return {std::max(0.0, all - again - (plan.recomputed.core ? core : 0)), again, plan.recomputed.core ? core : 0};
  }
  const double u = plan.sequence_parallel ? plan.tp : 1;
  const double input = element_bytes(plan) * local_tokens(plan, kind.seq) * kind.width / u;
  return {input, all - input, core};
}

LayerBytes layer_bytes(const Model& model, const Plan& plan, const LayerKind& kind) {
  const double core = core_bytes(model, plan, kind);
  const double all =
      plan.stack.kept * all_bytes(model, plan, kind, core) + local_tokens(plan, kind.seq) * kept_by_chains(plan, kind);
  if (plan.recompute == Recompute::kNone) return {all, 0, core, all};
  LayerBytes bytes = again_bytes(plan, kind, all, core);
  bytes.whole = all;
  const double share = share_again(plan, model.layers);
  bytes.kept = share * bytes.kept + (1 - share) * all;
  return bytes;
}

// What is the same of all stages of a plan.
struct Common {
  StateBytes state;
  double ranks = 1, expert_ranks = 1;  // that ZeRO shards over
  double microbatches = 1;
  double group = 0;  // of an interleaved pipeline: microbatches that go through a chunk before the next

  explicit Common(const Plan& plan)
      : state(state_bytes(plan)),
        ranks(static_cast<double>(shards(plan))),
        expert_ranks(static_cast<double>(expert_shards(plan))),
        microbatches(static_cast<double>(cluster::microbatches(plan))),
        group(plan.interleave > 1 ? static_cast<double>(microbatch_group(plan)) : 0) {}
};

// Microbatches whose activations a stage holds at most.
double held_microbatches(const Plan& plan, const Common& common, base::Count stage) {
  const double m = common.microbatches;
  const auto p = static_cast<double>(plan.pp);
  const auto behind = static_cast<double>(plan.pp - stage);  // stages from this one on
  const auto v = static_cast<double>(plan.interleave);
  if (plan.schedule == Schedule::kGpipe && plan.pp > 1) return m;  // of one stage no schedule makes a difference
  // Deferred weight gradients keep their activations: every stage holds as many as the first.
  if (plan.schedule == Schedule::kZeroBubble) return std::min(m, p);
  if (plan.schedule == Schedule::kDualPipe) return std::min(m, p + 1);  // of the two stages together
  if (folded(plan.schedule)) return std::min(m, static_cast<double>(v_held(plan.schedule, plan.pp)));
  if (plan.interleave > 1) return std::min(m, ((v - 1) * common.group + 2 * behind - 1) / v);
  return std::min(m, behind);
}

// Of the adapters of a layer on a rank: r (k + n) for its k x n part of a matrix.
double adapters_of(const Plan& plan, const LayerKind& kind) {
  if (plan.lora_rank == 0) return 0;
  const double t = plan.tp;
  double sizes = 0;
  for (const Matrix& m : kind.matrices) {
    if (!adapted(plan, m.name)) continue;
    sizes += static_cast<double>(m.in) / (m.split == Split::kRows ? t : 1);
    sizes += static_cast<double>(m.out) / (m.split == Split::kColumns ? t : 1);
    if (m.kv_heads > 0) sizes += std::max(1.0, static_cast<double>(m.kv_heads) / t) * static_cast<double>(m.kv_width);
  }
  return static_cast<double>(plan.lora_rank) * sizes;
}

// `layers` of a kind on a rank.
void add(const Plan& plan, const LayerKind& kind, double layers, StageParameters& params) {
  params.adapters += layers * adapters_of(plan, kind);
  params.dense += layers * (kind.split_params / plan.tp + kind.whole_params);
  params.experts += layers * kind.expert_params / plan.ep / expert_tp(plan);
}

// Layers that predict further tokens; who trains them lays his pipeline out so that they weigh on no stage alone.
double ahead_of_stage(const Model& model, const Plan& plan) {
  return static_cast<double>(model.ahead * held_stages(plan)) / static_cast<double>(plan.pp);
}

// Whether the accelerator of a stage has `other`, too: where a pipeline runs in both directions, it has the stage as
// far from the other end.
bool holds(const Plan& plan, base::Count stage, base::Count other) {
  return stage == other || (held_stages(plan) == 2 && stage == plan.pp - 1 - other);
}

double layers_held(const Model& model, const StageLayers& layers, std::size_t kind, const Plan& plan,
                   base::Count stage) {
  const double own = layers.of_kind(model, kind, stage);
  return held_stages(plan) == 1 ? own : own + layers.of_kind(model, kind, plan.pp - 1 - stage);
}

// What stands on the stages besides layers.
void add_ends(const Model& model, const Plan& plan, base::Count stage, StageParameters& params) {
  const double t = plan.tp;
  if (model.ahead > 0) {
    const double own = ahead_of_stage(model, plan);
    params.dense += own * model.ahead_params / t;
    for (const std::size_t kind : model.ahead_kinds) add(plan, model.kinds[kind], own, params);
  }
  if (holds(plan, stage, 0)) params.dense += (model.table + model.first_params) / t + model.positions;
  if (!holds(plan, stage, logits_stage(plan))) return;
  // The tied matrix stands on the first and on the last stage.
  if (logits_stage(plan) > 0 || !model.logits.tied)
    params.dense += static_cast<double>(model.logits.outputs) * static_cast<double>(model.logits.width) / t;
  params.dense += model.last_params;
}

// Layers that share their weights are one layer's.
double own_weights(const LayerKind& kind) {
  return kind.weight_sets / static_cast<double>(kind.layers);
}

// A stage's sums while its kinds of layers are gone through.
struct StageSum {
  base::Count stage = 0;
  StageParameters params;
  double layers = 0, mixtures = 0;
  double kept = 0;                           // of one microbatch
  double dense_back = 0, mixtures_back = 0;  // by recomputation, of the largest layer
  double core = 0, whole = 0;                // of the largest
  double permuted = 0;                       // elements of a token
};

void add(const Model& model, const Plan& plan, const LayerKind& kind, const LayerBytes& bytes, double layers,
         StageSum& sum) {
  const bool mixture = kind.mixture.count > 0;
  add(plan, kind, layers * own_weights(kind), sum.params);
  sum.layers += layers;
  if (mixture) sum.mixtures += layers;
  if (model.ahead > 0)
    for (const std::size_t ahead : model.ahead_kinds)
      if (&kind == &model.kinds[ahead]) layers += ahead_of_stage(model, plan);
  sum.kept += layers * bytes.kept;
  double& back = mixture ? sum.mixtures_back : sum.dense_back;
  back = std::max(back, bytes.brought_back);
  if (layers <= 0) return;
  sum.core = std::max(sum.core, bytes.core);
  sum.whole = std::max(sum.whole, bytes.whole);
  if (mixture)
    sum.permuted =
        std::max(sum.permuted, static_cast<double>(kind.mixture.top_k) * static_cast<double>(kind.mixture.width));
}

// What a stage holds, before it is said when: activations are whole when the backward pass begins. Then the loss's
// tensors are there, and behind them what the last layer brings back. Gradients of software that allocates them as
// they are made grow while activations go, so that the first or the last layer is the fullest; XLA's come at once.
struct Held {
  Memory memory;
  double loss = 0;          // logits and what is made of them
  double brought_back = 0;  // of one layer, by recomputation
  double whole = 0;         // of the layer whose backward pass runs

  Memory at_peak(const Plan& plan) const;
};

Memory Held::at_peak(const Plan& plan) const {
  const bool late = plan.stack.late_gradients && microbatches(plan) <= 1;
  const bool at_once = late && kin(plan.stack.name) == StackName::kXla;
  struct Moment {
    double activations, gradients, buffers;
    double gone;  // what is not there then
    double sum() const { return activations + gradients + buffers; }
  };
  const double a = memory.activations, g = memory.gradients;
  Moment fullest{a, late ? 0 : g, loss, brought_back};
  for (const Moment& other :
       {Moment{a, late && !at_once ? 0 : g, brought_back, loss},
        late ? Moment{std::min(a + brought_back, whole), g, 0, loss} : Moment{a, g, brought_back, loss}})
    if (other.sum() > fullest.sum()) fullest = other;
  Memory out = memory;
  out.activations = fullest.activations;
  out.gradients = fullest.gradients;
  out.buffers += fullest.buffers;
  // The allocator keeps a share, and the blocks of the smaller of the two that take turns.
  if (plan.stack.reserve > 0) out.reserve = plan.stack.reserve * out.in_use() + std::min(fullest.buffers, fullest.gone);
  return out;
}

// Weights, gradients and the optimiser's state. `around`: parameters that stand besides layers.
void add_state(const Plan& plan, const Common& common, const StageSum& sum, const StageParameters& params,
               double around, Memory& memory) {
  const StateBytes& state = common.state;
  const double whole = params.dense + params.experts;
  const auto shared = [&](double dense, double experts, double of_each, int sharded_from) {
    return of_each *
           (plan.zero >= sharded_from ? dense / common.ranks + experts / common.expert_ranks : dense + experts);
  };
  const bool frozen = plan.lora_rank > 0;
  // Of what is trained: all, or the adapters alone.
  const auto trained_bytes = [&](double of_each, int sharded_from) {
    if (!frozen) return shared(params.dense, params.experts, of_each, sharded_from);
    return of_each * params.adapters / (plan.zero >= sharded_from ? common.ranks : 1);
  };
  // What shards offloads all that it shards; without it the optimiser pages its own state.
  const double here = plan.stack.offloads_all && plan.zero > 0 ? 1 - plan.offload_optimizer : 1;
  memory.weights = trained_bytes(state.weight, 3);
  if (frozen) {
    // Frozen weights have no masters to be gathered from. Tables and logits are not quantised.
    const double each = state.weight == 0 ? 2 : state.weight;
    memory.weights += shared(params.dense, params.experts, each, 3);
    memory.weights -= shared(params.dense - around, params.experts, each - frozen_bytes(plan, each), 3);
  }
  memory.gradients = trained_bytes(state.gradient, plan.deferred_sync ? 4 : 2);
  if (plan.step_in_backward) {
    const double layer = (frozen ? params.adapters : whole - around) / std::max(1.0, sum.layers);
    memory.gradients = std::min(memory.gradients, state.gradient * std::max(layer, frozen ? 0 : around));
  }
  memory.optimizer = (1 - plan.offload_optimizer) * trained_bytes(state.optimizer, 1);
  memory.weights *= here;
  memory.gradients *= here;
}

// What a stage holds of the loss, at its worst.
double loss_bytes(const Model& model, const Plan& plan) {
  const double e = element_bytes(plan);
  const double u = plan.sequence_parallel ? plan.tp : 1;
  // Input of the last norm and of the logits; logits in 16 bits and, for the loss, in 32.
  const double boundary = local_tokens(plan, model.seq) * model.hidden / u;
  const double tokens =
      model.logits.at_one_token ? static_cast<double>(plan.micro_batch) : local_tokens(plan, model.seq);
  const double each = (e - 2 + logit_bytes(plan)) / plan.stack.loss_chunks;
  return (1 + static_cast<double>(model.ahead)) * (2 * e * boundary + each * tokens * model.logits.outputs / plan.tp);
}

// Weights that ZeRO 3 gathers, and gradients before they are scattered: two layers' weights, the one in use and the
// next; one layer's gradients; and what stands around the layers, which stays gathered. XLA schedules collectives
// matrix by matrix, of which a layer has about three large ones, and so gathers the logits' beside the loss alone.
void add_gathered(const Model& model, const Plan& plan, const StageSum& sum, const StageParameters& params,
                  double around, Held& held) {
  const double e = element_bytes(plan);
  const bool frozen = plan.lora_rank > 0;
  const double whole = params.dense + params.experts;
  const bool by_matrix = kin(plan.stack.name) == StackName::kXla;
  const double gathered = 2 / ((by_matrix ? 3 : 1) * std::max(sum.layers, 2.0));
  const double weights = frozen ? frozen_bytes(plan, e) * (whole - around) + e * (around + params.adapters) : e * whole;
  held.memory.buffers += gathered * std::max(0.0, weights - held.memory.weights);
  if (plan.stack.state_bytes == 0) return;
  const double gradient = plan.reduce_fp32 ? 4 : e;
  held.memory.buffers += gathered / 2 * gradient * (frozen ? params.adapters : whole - around);
  const double logits = holds(plan, sum.stage, logits_stage(plan))
                            ? std::min(around, static_cast<double>(model.logits.outputs) *
                                                   static_cast<double>(model.logits.width) / plan.tp)
                            : 0;
  if (by_matrix)
    held.loss += (frozen ? 1 : 2) * e * logits;
  else  // the table's gradient comes last, when activations have gone
    held.memory.buffers +=
        e * (plan.stack.ends_apart ? std::max(logits, around - logits) : around) + (frozen ? 0 : gradient * logits);
}

// `params`: its parameters, what stands besides layers among them.
Held held_by(const Model& model, const Plan& plan, const Common& common, const StageSum& sum, StageParameters& params) {
  const base::Count stage = sum.stage;
  params = sum.params;
  add_ends(model, plan, stage, params);
  const double around = params.dense - sum.params.dense;
  Held out;
  out.whole = sum.whole;
  Memory& memory = out.memory;
  add_state(plan, common, sum, params, around, memory);

  const double held = held_microbatches(plan, common, stage) / static_cast<double>(held_stages(plan));
  // Of what lies in the host's memory two layers' worth is on its way.
  const double away = plan.offload_activations * std::max(0.0, 1 - 2 / std::max(1.0, held * sum.layers));
  memory.activations = held * sum.kept * (1 - away);

  const double e = element_bytes(plan);
  const double u = plan.sequence_parallel ? plan.tp : 1;
  const auto share = [&](double elements) { return static_cast<double>(plan.micro_batch) * elements / plan.cp / u; };
  if (plan.pp > 1) memory.buffers += 4 * e * share(model.crossing);  // one in, one out, each way
  if (holds(plan, stage, 0) && model.dropout) memory.buffers += held * share(model.embedded);  // the embedding's mask
  if (holds(plan, stage, logits_stage(plan)) && model.logits.outputs > 0) out.loss = loss_bytes(model, plan);
  // Activations that recomputation restores, one layer at a time: those of the larger kind of layer, or the mean where
  // a stage has less than one.
  if (plan.recompute != Recompute::kNone) {
    const double mixtures = std::min(1.0, sum.mixtures);
    out.brought_back += (1 - mixtures) * sum.dense_back + mixtures * sum.mixtures_back;
  }
  if (plan.recompute == Recompute::kSelective) out.brought_back += sum.core;
  if (sum.mixtures > 0) memory.buffers += 2 * e * local_tokens(plan, model.seq) * expert_rows(plan) * sum.permuted / u;
  // A quantised matrix is made whole where it is used; a layer has about three large ones.
  if (plan.lora_rank > 0 && frozen_bytes(plan, e) < e)
    memory.buffers += e * (sum.params.dense + sum.params.experts) / (3 * std::max(1.0, sum.layers));
  if (plan.zero == 3) add_gathered(model, plan, sum, params, around, out);
  // What sequence parallelism gathers before products, and its gradient.
  if (plan.sequence_parallel && plan.tp > 1 && plan.stack.reserve > 0)
    memory.buffers += 2 * e * local_tokens(plan, model.seq) * static_cast<double>(model.hidden);
  memory.buffers += plan.stack.context_bytes;
  return out;
}

Memory finished(const Model& model, const Plan& plan, const Common& common, const StageSum& sum,
                StageParameters& params) {
  return held_by(model, plan, common, sum, params).at_peak(plan);
}

}  // namespace

double activation_bytes_per_layer(const Model& model, const Plan& plan, const LayerKind& kind) {
  return layer_bytes(model, plan, kind).kept;
}

double stepped_parameters(const Plan& plan, const StageParameters& params) {
  const auto ranks = static_cast<double>(plan.zero >= 1 ? shards(plan) : 1);
  if (plan.lora_rank > 0) return params.adapters / ranks;
  return params.dense / ranks + params.experts / static_cast<double>(plan.zero >= 1 ? expert_shards(plan) : 1);
}

StageParameters stage_parameters(const Model& model, const Plan& plan, base::Count stage) {
  const StageLayers layers(model.layers, plan.pp);
  StageParameters params;
  for (std::size_t k = 0; k < model.kinds.size(); ++k)
    add(plan, model.kinds[k], layers_held(model, layers, k, plan, stage) * own_weights(model.kinds[k]), params);
  add_ends(model, plan, stage, params);
  return params;
}

bool hosts_hold(const Model& model, const System& system, const Plan& plan) {
  const double room = system.accelerator.host_memory_bytes;
  return room <= 0 || host_bytes(model, plan) <= room;
}

namespace {

StageSum summed(const Model& model, const Plan& plan, base::Count stage) {
  const StageLayers layers(model.layers, plan.pp);
  StageSum sum;
  sum.stage = stage;
  for (std::size_t k = 0; k < model.kinds.size(); ++k) {
    const LayerKind& kind = model.kinds[k];
    add(model, plan, kind, layer_bytes(model, plan, kind), layers_held(model, layers, k, plan, stage), sum);
  }
  return sum;
}

void take(const Model& model, const Plan& plan, const Common& common, const StageSum& sum, Occupied& out) {
  StageParameters params;
  const Memory memory = finished(model, plan, common, sum, params);
  const bool first = sum.stage == 0;
  // What the allocator keeps gives way where memory is short, what is in use does not.
  if (first || memory.in_use() > out.fullest.in_use()) out.fullest = memory;
  const double adapters = std::max(out.most.adapters, params.adapters);
  if (first || params.dense + params.experts > out.most.dense + out.most.experts) out.most = params;
  out.most.adapters = adapters;
}

}  // namespace

double host_bytes(const Model& model, const Plan& plan) {
  if (plan.offload_activations == 0 && plan.offload_optimizer == 0) return 0;
  Plan kept = plan;
  kept.offload_activations = kept.offload_optimizer = 0;
  const auto bytes = [&](const Plan& of) {
    StageParameters params;
    const Memory all = held_by(model, of, Common(of), summed(model, of, 0), params).memory;
    return all.weights + all.gradients + all.optimizer + all.activations;
  };
  return bytes(kept) - bytes(plan);
}

Memory stage_memory(const Model& model, const Plan& plan, base::Count stage) {
  StageParameters params;
  return finished(model, plan, Common(plan), summed(model, plan, stage), params);
}

Occupied occupied(const Model& model, const Plan& plan) {
  const Common common(plan);
  Occupied out;
  if (held_stages(plan) == 2) {
    // Two stages each: which pair is the fullest follows no such rule.
    for (base::Count stage = 0; stage < plan.pp / 2; ++stage)
      take(model, plan, common, summed(model, plan, stage), out);
    return out;
  }
  const StageLayers layers(model.layers, plan.pp);
  std::array<StageSum, 4> sums;
  std::size_t count = 1;  // the first stage
  const base::Count last = plan.pp - 1;
  if (last > 1) sums[count++].stage = 1;
  if (plan.recompute == Recompute::kFull && model.kinds.size() > 1) {
    const base::Count shorter = 1 + layers.longer_between();
    if (shorter > 1 && shorter < last) sums[count++].stage = shorter;
  }
  if (last > 0) sums[count++].stage = last;
  for (std::size_t k = 0; k < model.kinds.size(); ++k) {
    const LayerKind& kind = model.kinds[k];
    const LayerBytes bytes = layer_bytes(model, plan, kind);
    for (std::size_t i = 0; i < count; ++i)
      add(model, plan, kind, bytes, layers_held(model, layers, k, plan, sums[i].stage), sums[i]);
  }
  for (std::size_t i = 0; i < count; ++i) take(model, plan, common, sums[i], out);
  return out;
}

Memory memory(const Model& model, const Plan& plan) {
  return occupied(model, plan).fullest;
}

std::string_view name(MemoryTerm term) {
  constexpr std::array<std::string_view, 5> kNames = {"weights", "gradients", "optimizer", "activations", "buffers"};
  return kNames[static_cast<std::size_t>(term)];
}

MemoryTerm Memory::largest() const {
  const double terms[] = {weights, gradients, optimizer, activations, buffers};
  return static_cast<MemoryTerm>(std::max_element(std::begin(terms), std::end(terms)) - std::begin(terms));
}

}  // namespace orrery::cluster
