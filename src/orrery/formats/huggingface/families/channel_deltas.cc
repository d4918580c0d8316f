// Deltas with a decay for each channel (Kimi Delta Attention, arXiv 2510.26692) in most layers, latent attention in the
// others, experts behind the first layers.
#include <fmt/format.h>

#include "orrery/formats/huggingface/families/experts.h"
#include "orrery/formats/huggingface/families/families.h"
#include "orrery/formats/huggingface/families/scans.h"

namespace orrery::formats::huggingface {

using base::Count;
using workload::Attention;
using workload::Block;
using workload::Experts;
using workload::FeedForward;
using workload::Projection;
using workload::Recurrence;
using workload::Stack;

namespace {

// What forgets and what gates are matrices of full rank, or of a head's width.
Recurrence channel_deltas(Count hidden, Count heads, Count width, Count taps, bool full_forget, bool full_gate) {
  const Count all = base::checked_multiply(heads, width);
  Recurrence delta;
  delta.kind = Recurrence::Kind::kDelta;
  delta.projections = {{"KQV", hidden, 3 * all}};
  const auto add = [&](const std::string& name, bool full) {
    if (full)
      delta.projections.push_back({name, hidden, all});
    else
      delta.projections.insert(delta.projections.end(), {{name + "-down", hidden, width}, {name + "-up", width, all}});
  };
  add("forget", full_forget);
  delta.projections.push_back({"step", hidden, heads});
  add("gate", full_gate);
  delta.projections.push_back({"Out", all, hidden});
  delta.channels = 3 * all;
  delta.taps = taps;
  delta.heads = heads;
  delta.key_width = delta.value_width = width;
  delta.small_parameters = all + heads + width;  // steps, decays; a norm
  return delta;
}

// `beside`: further matrices of layers that attend.
void finish_channel_deltas(Reading& r, Count hidden, const std::vector<std::string>& types, const Attention& a,
                           const Recurrence& delta, const std::vector<Projection>& beside, const FeedForward& dense,
                           const Experts& mixture, const std::function<bool(Count)>& is_mixture) {
  std::vector<Block> kinds(4, rms_block(2));
  kinds[0].mixer = kinds[1].mixer = a;
  kinds[0].extra = kinds[1].extra = beside;
  kinds[2].mixer = kinds[3].mixer = delta;
  kinds[0].feed_forward = kinds[2].feed_forward = dense;
  kinds[1].feed_forward = kinds[3].feed_forward = mixture;
  Stack stack = decoder(hidden, rms_norm());
  add_layers(stack, static_cast<Count>(types.size()), kinds, [&](Count layer) {
    return (types[static_cast<std::size_t>(layer)] == "linear_attention" ? 2 : 0) + (is_mixture(layer) ? 1 : 0);
  });
  finish_recurrent(r, std::move(stack), false);
  r.model.head.tied = false;  // whatever the file says
}

}  // namespace

// Deltas with a decay for each channel (Kimi Delta Attention, arXiv 2510.26692), latent attention in every fourth
// layer. Of Kimi K3 gates of full rank, a gate of latent attention, and experts on a latent. Before both operators of
// each layer and behind the last one (`attn_res_block_size`, section 2.2 of arXiv 2607.24653), sums of blocks of layers
// are weighted by a vector, behind a norm: the lists of its tensors have both, and that is no GEMM.
void read_kimi_linear(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  Attention a = attention(r, hidden, {"num_attention_heads", "", "", 0, 1});
  r.keys.know({"num_key_value_heads", "head_dim"});
  make_latent(r, a, 0);
  bias_all(a, r.keys.flag("attention_bias", false));
  std::vector<Projection> beside;
  if (r.keys.flag("mla_use_output_gate", false)) beside = {{"layer-gate", hidden, a.output()}};
  bool full_gate = false;
  Count heads = r.keys.size("linear_num_heads", 32), width = r.keys.size("linear_head_dim", 128);
  Count taps = r.keys.size("linear_conv_kernel_dim", 4);
  std::vector<Count> full, linear;
  if (const json::Node* inside = r.keys.value("linear_attn_config"); inside != nullptr && inside->is_object()) {
    ConfigKeys own(*inside, r.keys.where("linear_attn_config"), r.keys.found());
    heads = own.size("num_heads", heads);
    width = own.size("head_dim", width);
    taps = own.size("short_conv_kernel_size", taps);
    full_gate = own.flag("use_full_rank_gate", false);
    own.know({"gate_lower_bound"});
    full = layer_list(own, "full_attn_layers", layers, 1);
    linear = layer_list(own, "kda_layers", layers, 1);
    name_unread(r, own, "linear_attn_config");
  }
  const auto attends = among(full);
  const Recurrence delta = channel_deltas(hidden, heads, width, taps, false, full_gate);
  const FeedForward dense = {sized(r, "intermediate_size"), true, false};
  const Count inner = r.keys.size("moe_intermediate_size", 1024);
  Experts mixture =
      experts(r, r.keys.spelled({"num_local_experts", "num_experts"}),
              r.keys.spelled({"num_experts_per_tok", "num_experts_per_token"}), 256, 8, {inner, true, false});
  mixture.latent = r.keys.size("routed_expert_hidden_size", 0, 0);
  const Count norm = r.keys.flag("latent_moe_use_norm", false) ? mixture.latent : 0;  // behind the experts
  r.keys.know({"activation_situ_beta", "activation_situ_linear_beta"});
  mixture.shared = r.keys.count(r.keys.spelled({"n_shared_experts", "num_shared_experts"}), 1);
  mixture.shared_expert = {mixture.shared * inner, true, false};
  limit_groups(r, mixture, 1, 1, r.keys.spelled({"n_group", "num_expert_group"}));
  const auto is_mixture = mixture_layers(r, layers, after_first(r, layers, 1));
  const std::vector<std::string> types =
      layer_types(r, "num_hidden_layers", layers,
                  [&](Count layer) {
                    if (!full.empty() && !linear.empty())
                      return attends(layer + 1) ? "full_attention" : "linear_attention";
                    return layer > 0 && layer % 4 == 0 ? "full_attention" : "linear_attention";
                  },
                  {"full_attention", "linear_attention"});
  finish_channel_deltas(r, hidden, types, a, delta, beside, dense, mixture, is_mixture);
  Stack& stack = r.model.stacks.back();
  for (Block& kind : stack.kinds)
    if (std::holds_alternative<Experts>(kind.feed_forward)) kind.extra_parameters = norm;
  if (r.keys.size("attn_res_block_size", 0, 0) == 0) return;
  for (Block& kind : stack.kinds)
    kind.extra_parameters = base::checked_add(kind.extra_parameters, base::checked_multiply(4, hidden));
  stack.other_parameters = base::checked_add(stack.other_parameters, base::checked_multiply(2, hidden));
}

// Ling 2.5: forgetting and gates of full rank, a gate for each head of latent attention.
void read_bailing_hybrid(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  Attention a = attention(r, hidden, {"num_attention_heads", "", "", 0, 1});
  make_latent(r, a, 0);
  bias_all(a, r.keys.flag("attention_bias", false));
  // A file that the class wrote keeps the width of deltas under another name.
  const Count width = r.keys.size(r.keys.given("linear_head_dim") ? "linear_head_dim" : "head_dim", 128);
  r.keys.know({"num_key_value_heads", "head_dim", "kda_safe_gate", "kda_lower_bound", "moe_renormalize",
               "linear_num_heads", "linear_conv_kernel_dim", "mtp_loss_scaling_factor"});
  const Recurrence delta = channel_deltas(hidden, a.heads, width, r.keys.size("short_conv_kernel_size", 4), true, true);
  const FeedForward dense = {sized(r, "intermediate_size"), true, false};
  const Count inner = r.keys.size("moe_intermediate_size", 768);
  Experts mixture =
      experts(r, r.keys.spelled({"num_experts", "num_local_experts"}),
              r.keys.spelled({"num_experts_per_token", "num_experts_per_tok"}), 512, 8, {inner, true, false});
  mixture.shared = r.keys.count("num_shared_experts", 1);
  mixture.shared_expert = {mixture.shared * inner, true, false};
  limit_groups(r, mixture, 8, 4, r.keys.spelled({"num_expert_group", "n_group"}));
  const Count every = r.keys.size("layer_group_size", 6);
  const std::vector<std::string> types =
      layer_types(r, "num_hidden_layers", layers,
                  [=](Count layer) { return (layer + 1) % every == 0 ? "full_attention" : "linear_attention"; },
                  {"full_attention", "linear_attention"});
  finish_channel_deltas(r, hidden, types, a, delta, {{"layer-head-gate", hidden, a.heads}}, dense, mixture,
                        mixture_layers(r, layers, after_first(r, layers, 2)));
  r.model.predicted_ahead = predicted_ahead(r);
  // Latent attention and experts, behind whichever layer (vLLM, bailing_moe_mtp.py).
  r.model.ahead.known = false;
  for (const Block& kind : r.model.stacks.back().kinds)
    if (std::holds_alternative<Attention>(kind.mixer) && std::holds_alternative<Experts>(kind.feed_forward))
      r.model.ahead.known = true, r.model.ahead.layers = {kind};
}

}  // namespace orrery::formats::huggingface
