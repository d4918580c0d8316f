// One table. A feature is needed by a plan or it is not; conditions that go with it ("with several stages") are in the
// test, the choices that make it needed in `variables`. Cost: a test of a few integers for each feature that is asked
// about.
#include "orrery/engines/cluster/model/supported_features.h"

#include <bit>

#include "orrery/base/diagnostics/check.h"

namespace orrery::cluster {
namespace {

using M = const Model&;
using P = const Plan&;

bool piped(P p) {
  return p.pp > 1;
}

bool has_experts_cut_or_whole(M m, P p) {
  return p.tp > 1 && m.mixes();
}

std::vector<Feature> all() {
  using enum Variable;
  return {
      {"1f1b",
       "the 1F1B schedule",
       {kSchedule, kInterleave},
       [](M, P p) { return piped(p) && p.schedule == Schedule::kOneFOneB && p.interleave == 1; }},
      {"interleaved",
       "interleaved 1F1B, several chunks a stage",
       {kInterleave},
       [](M, P p) { return p.interleave > 1; }},
      {"interleaved_pair",
       "interleaved 1F1B of two stages",
       {kInterleave, kPp},
       [](M, P p) { return p.interleave > 1 && p.pp == 2; }},
      {"gpipe", "the GPipe schedule", {kSchedule}, [](M, P p) { return piped(p) && p.schedule == Schedule::kGpipe; }},
      {"zero_bubble",
       "the zero-bubble schedule",
       {kSchedule},
       [](M, P p) { return piped(p) && p.schedule == Schedule::kZeroBubble; }},
      {"dual_pipe",
       "the DualPipe schedule",
       {kSchedule},
       [](M, P p) { return piped(p) && p.schedule == Schedule::kDualPipe; }},
      {"zb_v", "the ZB-V schedule", {kSchedule}, [](M, P p) { return piped(p) && p.schedule == Schedule::kZbV; }},
      {"v_half", "the V-Half schedule", {kSchedule}, [](M, P p) { return piped(p) && p.schedule == Schedule::kVHalf; }},
      {"v_min", "the V-Min schedule", {kSchedule}, [](M, P p) { return piped(p) && p.schedule == Schedule::kVMin; }},
      {"overlapped_zero_bubble",
       "gradients exchanged beside zero-bubble schedules",
       {kSchedule},
       [](M, P p) {
         return piped(p) && p.dp > 1 && p.overlap.dp > 0 && (p.schedule == Schedule::kZeroBubble || folded(p.schedule));
       }},
      {"uneven_stages", "stages of unequal numbers of layers", {kPp}, [](M m, P p) { return m.layers % p.pp != 0; }},
      {"uneven_chunks",
       "chunks of unequal numbers of layers",
       {kInterleave},
       [](M m, P p) { return chunks(p) > 1 && m.layers % (p.pp * chunks(p)) != 0; }},
      {"uneven_microbatches",
       "a last microbatch that is smaller",
       {kMicroBatch, kDp},
       [](M, P p) { return p.global_batch % (p.dp * p.micro_batch) != 0; }},
      {"tensor_parallelism", "tensor parallelism", {kTp}, [](M, P p) { return p.tp > 1; }},
      {"context_parallelism", "context parallelism", {kCp}, [](M, P p) { return p.cp > 1; }},
      {"sequence_parallelism",
       "sequence parallelism",
       {kSequenceParallel},
       [](M, P p) { return p.sequence_parallel && p.tp > 1; }},
      {"expert_parallelism", "expert parallelism", {kEp}, [](M, P p) { return p.ep > 1; }},
      {"piped_experts",
       "expert parallelism with several stages",
       {kEp, kPp},
       [](M, P p) { return p.ep > 1 && piped(p); }},
      {"experts_without_sequence_parallelism",
       "experts with tensor but without sequence parallelism",
       {kEp, kTp, kSequenceParallel},
       [](M, P p) { return p.ep > 1 && p.tp > 1 && !p.sequence_parallel; }},
      {"cut_experts",
       "experts that tensor parallelism cuts",
       {kExpertTp},
       [](M m, P p) { return has_experts_cut_or_whole(m, p) && expert_tp(p) > 1; }},
      {"whole_experts",
       "whole experts beside tensor parallelism",
       {kExpertTp},
       [](M m, P p) { return has_experts_cut_or_whole(m, p) && expert_tp(p) == 1; }},
      {"zero_1", "ZeRO 1", {kZero}, [](M, P p) { return p.zero == 1 && replicas(p) > 1; }},
      {"zero_2", "ZeRO 2", {kZero}, [](M, P p) { return p.zero == 2 && replicas(p) > 1; }},
      {"zero_3", "ZeRO 3", {kZero}, [](M, P p) { return p.zero == 3 && replicas(p) > 1; }},
      {"piped_gradients",
       "ZeRO 2 or 3 with several stages",
       {kZero, kPp},
       [](M, P p) { return p.zero >= 2 && piped(p) && replicas(p) > 1; }},
      {"hybrid_sharding",
       "sharding over some of the replicas",
       {kShard},
       [](M, P p) { return p.shard > 0 && p.shard < replicas(p); }},
      {"deferred_sync",
       "gradients that are sharded and exchanged once an iteration",
       {},
       [](M, P p) { return p.deferred_sync && p.zero >= 2 && microbatches(p) > 1; }},
      {"selective_recomputation",
       "selective recomputation",
       {kRecompute},
       [](M, P p) { return p.recompute == Recompute::kSelective; }},
      {"recompute_layers",
       "recomputation of some layers",
       {},
       [](M, P p) { return p.recompute != Recompute::kNone && p.recompute_layers > 0; }},
      {"narrow_products", "products in 8 bits or fewer", {}, [](M, P p) { return machine::quantised(p.precision); }},
      {"adapters", "adapters beside frozen matrices", {}, [](M, P p) { return p.lora_rank > 0; }},
      {"frozen_8_bits",
       "frozen weights in 8 bits",
       {},
       [](M, P p) { return p.lora_rank > 0 && p.frozen_bits > 4 && p.frozen_bits < 16; }},
      {"frozen_4_bits",
       "frozen weights in 4 bits",
       {},
       [](M, P p) { return p.lora_rank > 0 && p.frozen_bits > 0 && p.frozen_bits <= 4; }},
      {"step_in_backward",
       "the optimiser's step inside the backward pass",
       {},
       [](M, P p) { return p.step_in_backward; }},
      {"expert_capacity", "experts of a capacity", {}, [](M m, P p) { return m.mixes() && p.capacity_factor > 0; }},
      {"packed_documents",
       "masks of packed documents",
       {},
       [](M m, P) { return m.document > 0 && m.document < m.seq; }},
      {"offloaded_activations",
       "activations in the host's memory",
       {kOffloadActivations},
       [](M, P p) { return p.offload_activations > 0; }},
      {"offloaded_optimizer",
       "the optimiser's state in the host's memory",
       {kOffloadOptimizer},
       [](M, P p) { return p.offload_optimizer > 0; }},
      {"part_of_optimizer",
       "a part of the optimiser's state in the host's memory",
       {kOffloadOptimizer},
       [](M, P p) { return p.offload_optimizer > 0 && p.offload_optimizer < 1; }},
      {"unsharded_offload",
       "the optimiser's state in the host's memory without ZeRO",
       {kOffloadOptimizer, kZero},
       [](M, P p) { return p.offload_optimizer > 0 && p.zero == 0 && replicas(p) > 1; }},
      {"stages_inside_replicas",
       "stages nearer to each other than replicas are",
       {kOrder},
       [](M, P p) { return p.order == Order::kCpPpDp; }},
      {"any_order",
       "degrees in any order on the network",
       {kOrder},
       [](M, P p) { return p.order != Order::kCpDpPp && p.order != Order::kCpPpDp; }},
  };
}

}  // namespace

const std::vector<Feature>& features() {
  static const std::vector<Feature> table = all();
  return table;
}

Features needed(const Model& model, const Plan& plan, Features among) {
  Features result = 0;
  for (Features left = among; left != 0; left &= left - 1) {
    const int at = std::countr_zero(left);
    if (features()[static_cast<std::size_t>(at)].needed(model, plan)) result |= Features{1} << at;
  }
  return result;
}

bool runs_without(const Model& model, const Plan& plan, Features lacking) {
  const std::vector<Feature>& table = features();
  for (Features left = lacking; left != 0; left &= left - 1)
    if (table[static_cast<std::size_t>(std::countr_zero(left))].needed(model, plan)) return false;
  return true;
}

Features feature(const char* name) {
  const std::vector<Feature>& table = features();
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].name == std::string_view(name)) return Features{1} << i;
  ORRERY_CHECK(false, std::string("no feature is called ") + name);
  return 0;
}

base::Fields feature_fields(Stack& stack) {
  base::Fields fields;
  const std::vector<Feature>& table = features();
  for (std::size_t i = 0; i < table.size(); ++i) {
    const Features bit = Features{1} << i;
    base::Field field;
    field.path = std::string("stack.runs.") + table[i].name;
    field.values = "true or false";
    field.text = table[i].text;
    field.get = [&stack, bit] { return base::FieldValue((stack.lacks & bit) == 0); };
    field.set = [&stack, bit](const std::string& text) {
      if (text != "true" && text != "false") return false;
      stack.lacks = text == "true" ? stack.lacks & ~bit : stack.lacks | bit;
      return true;
    };
    fields.push_back(std::move(field));
  }
  return fields;
}

}  // namespace orrery::cluster
