// Mixtures of experts whose layers attend with heads of their own number, or whose residual stream is gated; and DBRX,
// whose keys are nested.
#include <algorithm>

#include "orrery/formats/huggingface/families/experts.h"
#include "orrery/formats/huggingface/families/families.h"
#include "orrery/formats/huggingface/families/scans.h"

namespace orrery::formats::huggingface {

using base::Count;
using workload::Attention;
using workload::Block;
using workload::Experts;
using workload::FeedForward;
using workload::QkNorm;

namespace {

// Laguna's gate of what attention made: a number for each head, or for each element; empty: none.
std::string gating(Reading& r) {
  const json::Node* said = r.keys.value("gating");
  if (said == nullptr || said->kind == json::Node::Kind::kTruth)
    return said == nullptr || said->truth ? "per-head" : "";
  if (said->text == "per-head" || said->text == "per-element") return said->text;
  r.keys.found()
      .error("O0903", "`gating` cannot be `" + said->text.substr(0, 40) + "`", r.keys.where("gating"))
      .hint("it is true or \"per-head\", \"per-element\", or false");
  return {};
}

}  // namespace

// Layers have query heads of their own number, and windows by `layer_types`.
void read_laguna(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  AttentionKeys named;
  named.absent_kv_heads = 8;
  named.absent_width = 128;
  Attention a = attention(r, hidden, named);
  bias_all(a, r.keys.flag("attention_bias", false));
  a.qk_norm = QkNorm::kHead;
  const std::string gate = gating(r);
  std::vector<Count> heads = r.keys.counts("num_attention_heads_per_layer");
  if (r.keys.given("num_attention_heads_per_layer") && heads.size() != static_cast<std::size_t>(layers) && layers > 0)
    r.keys.found()
        .error("O0922", "`num_attention_heads_per_layer` and `num_hidden_layers` disagree",
               r.keys.where("num_attention_heads_per_layer"))
        .hint("it has one item for each layer");
  heads.resize(static_cast<std::size_t>(std::max<Count>(layers, 1)), a.heads);  // refused above where there are none
  std::vector<Count> sizes = heads;
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  const Count span = window(r, 512, false);
  Experts e = experts(r, r.keys.spelled({"num_experts", "num_local_experts"}), "num_experts_per_tok", 256, 8,
                      {r.keys.size("moe_intermediate_size", 512), true, false});
  e.shared = 1;
  e.shared_expert = {r.keys.size("shared_expert_intermediate_size", 512), true, false};
  e.router_bias = true;
  r.keys.know({"moe_routed_scaling_factor", "moe_apply_router_weight_on_input", "moe_router_logit_softcapping"});
  const FeedForward dense = {sized(r, "intermediate_size"), true, false};
  std::vector<Block> kinds;
  for (const Count each : sizes) {
    if (each < 1 || each % std::max<Count>(1, a.kv_heads) != 0) {
      r.keys.found().error("O0912", std::to_string(a.kv_heads) + " key heads do not divide the query heads of a layer",
                           r.keys.where("num_attention_heads_per_layer"));
      return;
    }
    Block block = rms_block(2);
    Attention own = a;
    own.heads = each;
    if (gate == "per-element") gate_without_bias(own);
    for (const bool near : {false, true}) {
      if (near) reach_window(own, span);
      block.mixer = own;
      if (gate == "per-head") block.extra = {{"layer-head-gate", hidden, each}};
      block.feed_forward = dense;
      kinds.push_back(block);
      block.feed_forward = e;
      kinds.push_back(block);
    }
  }
  const std::vector<std::string> types = layer_types(
      r, "num_hidden_layers", layers, [](Count) { return "full_attention"; }, {"full_attention", "sliding_attention"});
  const auto is_mixture = mixture_layers(r, layers, [](Count layer) { return layer > 0; });
  if (r.keys.given("mlp_layer_types")) r.keys.know({"mlp_only_layers"});  // published files say it twice
  finish_kinds(
      r, hidden, layers, kinds,
      [&](Count layer) {
        const auto i = static_cast<std::size_t>(layer);
        const auto of = std::lower_bound(sizes.begin(), sizes.end(), heads[i]) - sizes.begin();
        return static_cast<int>(4 * of) + (types[i] == "full_attention" ? 0 : 2) + (is_mixture(layer) ? 1 : 0);
      },
      false);
}

// Gated attention, norms around the operators, groups of experts; every sixth layer and the last one see all tokens.
void read_beam(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  AttentionKeys named;
  named.absent_kv_heads = 8;
  named.absent_width = 128;
  Attention a = attention(r, hidden, named);
  bias_all(a, r.keys.flag("attention_bias", false));
  a.qk_norm = QkNorm::kHead;
  gate_without_bias(a);
  a.small_parameters += a.heads;  // biases of the gate
  Experts e = experts(r, r.keys.spelled({"num_experts", "num_local_experts"}), "num_experts_per_tok", 256, 8,
                      {r.keys.size("moe_intermediate_size", 2560), true, false});
  limit_groups(r, e, 8, 4);
  std::vector<Block> kinds(4, rms_block(4));
  kinds[0].mixer = kinds[1].mixer = a;
  reach_window(a, window(r, 512, false));
  kinds[2].mixer = kinds[3].mixer = a;
  kinds[0].feed_forward = kinds[2].feed_forward = FeedForward{sized(r, "intermediate_size"), true, false};
  kinds[1].feed_forward = kinds[3].feed_forward = e;
  const std::vector<std::string> types = layer_types(
      r, "num_hidden_layers", layers,
      [=](Count layer) { return (layer + 1) % 6 == 0 || layer + 1 == layers ? "full_attention" : "sliding_attention"; },
      {"full_attention", "sliding_attention"});
  const auto is_mixture = mixture_layers(r, layers, [](Count layer) { return layer >= 3; });
  finish_kinds(
      r, hidden, layers, kinds,
      [&](Count layer) {
        return (types[static_cast<std::size_t>(layer)] == "full_attention" ? 0 : 2) + (is_mixture(layer) ? 1 : 0);
      },
      false);
}

// Experts on a latent between norms; gates of what the residual stream takes of both operators.
void read_muse_spark(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  AttentionKeys named;
  named.absent_kv_heads = 16;
  named.absent_width = 64;
  Attention a = attention(r, hidden, named);
  bias_all(a, r.keys.flag("attention_bias", false));
  gate_without_bias(a);
  Experts e = experts(r, r.keys.spelled({"num_local_experts", "num_experts"}), "num_experts_per_tok", 256, 8,
                      {r.keys.size("moe_intermediate_size", 4096), true, false});
  e.latent = r.keys.size("moe_hidden_size", 4096);
  r.keys.know(
      {"qk_scale_factor", "output_multiplier", "post_norm_eps", "layer_rope_theta", "residual_gate_temperature"});
  Block block = rms_block(3);
  block.extra_parameters = 2 * hidden;
  std::vector<Block> kinds(4, block);
  kinds[0].mixer = kinds[1].mixer = a;
  reach_window(a, window(r, 2048, false));
  kinds[2].mixer = kinds[3].mixer = a;
  kinds[0].feed_forward = kinds[2].feed_forward = FeedForward{sized(r, "intermediate_size"), true, false};
  kinds[1].feed_forward = kinds[3].feed_forward = e;
  for (const std::size_t kind : {1, 3}) kinds[kind].extra_parameters += 2 * e.latent;
  const std::vector<std::string> types =
      layer_types(r, "num_hidden_layers", layers,
                  [=](Count layer) { return (layers - 1 - layer) % 4 == 0 ? "full_attention" : "sliding_attention"; },
                  {"full_attention", "sliding_attention"});
  const auto is_mixture = mixture_layers(r, layers, [](Count) { return true; });
  finish_kinds(
      r, hidden, layers, kinds,
      [&](Count layer) {
        return (types[static_cast<std::size_t>(layer)] == "full_attention" ? 0 : 2) + (is_mixture(layer) ? 1 : 0);
      },
      false);
}

// Layer norms without biases; sizes of attention and of the experts stand in objects of their own.
void read_dbrx(Reading& r) {
  const Count hidden = sized(r, "d_model");
  const Count layers = layers_of(r, "n_layers");
  Count kv_heads = 1;
  if (const json::Node* inside = r.keys.value("attn_config"); inside != nullptr && inside->is_object()) {
    ConfigKeys own(*inside, r.keys.where("attn_config"), r.keys.found());
    kv_heads = own.size("kv_n_heads", kv_heads);
    own.know({"clip_qkv", "attn_pdrop", "rope_theta", "model_type"});
    name_unread(r, own, "attn_config");
  }
  r.keys.know({"num_key_value_heads"});  // what the class makes of it
  const Attention a = attention_of(r, hidden, sized(r, "n_heads"), kv_heads, 0, {"n_heads", "attn_config", ""});
  Count inner = 3584, count = 4, visited = 1;
  if (const json::Node* inside = r.keys.value("ffn_config"); inside != nullptr && inside->is_object()) {
    ConfigKeys own(*inside, r.keys.where("ffn_config"), r.keys.found());
    inner = own.size("ffn_hidden_size", inner);
    count = own.size("moe_num_experts", count);
    visited = own.size("moe_top_k", visited);
    own.know({"hidden_size", "ffn_act_fn", "moe_jitter_eps", "moe_loss_weight", "moe_normalize_expert_weights",
              "model_type"});
    name_unread(r, own, "ffn_config");
  }
  if (visited > count)
    r.keys.found()
        .error("O0907", "a token visits " + std::to_string(visited) + " of " + std::to_string(count) + " experts",
               r.keys.where("ffn_config"))
        .hint("`moe_top_k` is at most the number of experts");
  Experts e;
  e.count = count;
  e.top_k = visited;
  e.expert = {inner, true, false};
  Block block = rms_block(2);
  block.norm = layer_norm(false);
  block.mixer = a;
  block.feed_forward = e;
  workload::Stack stack = decoder(hidden, layer_norm(false));
  add_layers(stack, layers, block);
  positions(r, stack, "max_seq_len", false, 2048);
  vocabulary(r, hidden);
  logits(r, false);
  r.model.stacks.push_back(std::move(stack));
}

}  // namespace orrery::formats::huggingface
