#include "orrery/cluster/fields.h"

#include "orrery/cluster/names.h"

namespace orrery::cluster {
namespace {

using base::choice_field;
using base::Count;
using base::Field;
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

// 0 would stand for a default, or for a run without logits, which nobody asked for.
Field dimension(const char* path, Count& member, const char* text) {
  return whole_field(path, member, 1, base::kUnbounded, text);
}

// Of experts and latents, 0 says that there are none.
Field part(const char* path, Count& member, const char* text) {
  return whole_field(path, member, 0, base::kUnbounded, text);
}

}  // namespace

base::Fields fields(Plan& plan) {
  return {
      size("gpus", plan.gpus, "accelerators: tp x pp x cp x dp"),
      size("global_batch", plan.global_batch, "sequences per iteration"),
      size("micro_batch", plan.micro_batch, "sequences per microbatch"),
      degree("tp", plan.tp, "tensor-parallel degree"),
      degree("pp", plan.pp, "pipeline stages"),
      degree("dp", plan.dp, "data-parallel degree"),
      degree("ep", plan.ep, "expert-parallel degree, inside dp"),
      degree("cp", plan.cp, "context-parallel degree (ring attention)"),
      degree("interleave", plan.interleave, "chunks of layers per stage"),
      schedule(plan),
      choice_field("recompute", plan.recompute, recomputations(),
                   "what is computed again; selective: the attention core"),
      truth_field("sequence_parallel", plan.sequence_parallel, "norms and dropouts are split over tp as well"),
      whole_field("zero", plan.zero, 0, 3,
                  "sharded over dp: 1 the optimiser's state, 2 gradients as well, 3 weights as well"),
      choice_field("precision", plan.precision, precisions(), "of products, weights and activations"),
      truth_field("reduce_fp32", plan.reduce_fp32, "gradients travel in fp32, not in 16 bits"),
      truth_field("main_gradients_fp32", plan.main_gradients_fp32, "gradients accumulate in fp32 (Megatron)"),
      truth_field("scatter_gather", plan.scatter_gather,
                  "ranks of a tensor group send a boundary's tensor in parts; false: each sends all of it"),
      truth_field("paired_messages", plan.paired_messages,
                  "a stage sends and receives at once; false: one after the other (DeepSpeed)"),
      truth_field("fused_accumulation", plan.fused_accumulation,
                  "weight gradients are added up by the products that make them; false: in a pass of its own"),
      truth_field("converted_gradients", plan.converted_gradients,
                  "that pass first copies the gradients to the sum's precision (DeepSpeed with bf16)"),
      share_field("overlap.tp", plan.overlap.tp, "hidden beside the layer's own operators"),
      share_field("overlap.pp", plan.overlap.pp, "hidden beside the steady state's stages"),
      share_field("overlap.dp", plan.overlap.dp, "hidden beside the last microbatch's backward pass"),
      share_field("overlap.ep", plan.overlap.ep, "hidden beside the layer's operators"),
      share_field("overlap.cp", plan.overlap.cp, "hidden beside the attention core"),
  };
}

base::Fields fields(Model& model) {
  Experts& experts = model.experts;
  LatentAttention& latent = model.latent;
  return {
      dimension("layers", model.layers, "transformer blocks"),
      dimension("hidden", model.hidden, "width of the residual stream"),
      dimension("heads", model.heads, "query heads"),
      dimension("kv_heads", model.kv_heads, "key/value heads; default: as many as `heads`"),
      dimension("head_width", model.head_width, "default: `hidden` / `heads`"),
      dimension("ffn", model.ffn, "inner width of the feed-forward network; default: 4 `hidden`"),
      dimension("vocab", model.vocab, "tokens of the vocabulary"),
      dimension("seq", model.seq, "tokens of a training sequence"),
      part("window", model.window, "tokens that attention sees in some layers; 0: all tokens in every layer"),
      part("windowed_layers", model.windowed_layers, "so many layers have the window"),
      part("experts.count", experts.count, "routed experts; 0: a dense model"),
      part("experts.top_k", experts.top_k, "experts that a token visits"),
      part("experts.ffn", experts.ffn, "inner width of one expert"),
      part("experts.shared", experts.shared, "experts that every token visits"),
      part("experts.dense_layers", experts.dense_layers, "the first layers, which stay dense"),
      part("experts.every", experts.every, "after those, every n-th layer is a mixture"),
      part("experts.max_nodes", experts.max_nodes, "a token's experts lie in at most so many nodes; 0: no limit"),
      part("latent.q_rank", latent.q_rank, "of latent attention's queries; 0: projected directly"),
      part("latent.kv_rank", latent.kv_rank, "of its keys and values; 0: no latent attention"),
      part("latent.rope_width", latent.rope_width, "of a head: the part that carries the position"),
      part("latent.nope_width", latent.nope_width, "of a head: the rest of query and key"),
      part("latent.value_width", latent.value_width, "of a head's value"),
      truth_field("gated", model.gated, "gate and up projections side by side (SwiGLU)"),
      truth_field("causal", model.causal, "a token attends to itself and those before it"),
      truth_field("chunked", model.chunked, "those layers see their own chunk of `window` tokens, not the last ones"),
      truth_field("biases", model.biases, "of projections and norms"),
      truth_field("dropout", model.dropout, "masks are drawn and kept"),
      truth_field("learned_positions", model.learned_positions, "a table of positions has parameters"),
      truth_field("tied_embedding", model.tied_embedding, "the logits use the embedding's matrix"),
      choice_field("attention", model.attention, attentions(),
                   "scores go through memory, or one fused operator keeps them on chip"),
  };
}

}  // namespace orrery::cluster
