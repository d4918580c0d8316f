#include "orrery/cluster/fields.h"

#include <algorithm>

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

base::Fields fields(Description& of) {
  base::Fields all = workload::fields(of.sizes);
  const auto after = std::find_if(all.begin(), all.end(), [](const Field& field) { return field.path == "window"; });
  all.insert(after, whole_field("seq", of.as.seq, 1, base::kUnbounded, "tokens of a training sequence"));
  all.push_back(choice_field("attention", of.as.attention, attentions(),
                             "scores go through memory, or one fused operator keeps them on chip"));
  return all;
}

}  // namespace orrery::cluster
