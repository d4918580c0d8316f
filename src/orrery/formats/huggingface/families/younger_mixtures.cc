// Decoders with mixtures of experts that came after DeepSeek-V3: an index that picks keys, windows with heads of their
// own, gates of heads, experts that do nothing.
#include "orrery/formats/huggingface/families/families.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/text/text.h"
#include "orrery/formats/huggingface/families/experts.h"

namespace orrery::formats::huggingface {
namespace {

using base::Count;
using workload::Attention;
using workload::Block;
using workload::Experts;
using workload::FeedForward;
using workload::QkNorm;

AttentionKeys kv_of(Count absent_kv_heads, Count absent_width = 0) {
  AttentionKeys named;
  named.absent_kv_heads = absent_kv_heads;
  named.absent_width = absent_width;
  return named;
}

Block mixing(const Attention& a) {
  Block block;
  block.mixer = a;
  block.norm = rms_norm();
  return block;
}

// One mixture in every layer.
void finish_alike(Reading& r, Count hidden, Count layers, const Block& block) {
  finish_kinds(
      r, hidden, layers, {block}, [](Count) { return 0; }, false);
}

// Dense layers and mixtures, each with attention to all tokens and to near ones: 0 to 3.
std::vector<Block> four_kinds(const Attention& far, const Attention& near, const FeedForward& dense,
                              const Experts& mixture) {
  std::vector<Block> kinds = {mixing(far), mixing(far), mixing(near), mixing(near)};
  kinds[0].feed_forward = kinds[2].feed_forward = dense;
  kinds[1].feed_forward = kinds[3].feed_forward = mixture;
  return kinds;
}

void finish_four(Reading& r, Count hidden, const std::vector<std::string>& types, const std::vector<Block>& kinds,
                 const std::function<bool(Count)>& is_mixture) {
  finish_kinds(
      r, hidden, static_cast<Count>(types.size()), kinds,
      [&](Count layer) {
        return (types[static_cast<std::size_t>(layer)] == "full_attention" ? 0 : 2) + (is_mixture(layer) ? 1 : 0);
      },
      false);
}

const std::vector<std::string>& full_and_sliding() {
  static const std::vector<std::string> types = {"full_attention", "sliding_attention"};
  return types;
}

}  // namespace

void read_minimax_m2(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  Attention a = attention(r, hidden, kv_of(8, 128));
  if (r.keys.flag("use_qk_norm", true)) a.qk_norm = QkNorm::kAll;
  r.keys.know({"qk_norm_type", "use_routing_bias", "shared_intermediate_size", "attn_type_list"});
  Block block = mixing(a);
  block.feed_forward = experts(r, r.keys.spelled({"num_local_experts", "num_experts"}), "num_experts_per_tok", 256, 8,
                               {sized(r, "intermediate_size"), true, false});
  finish_alike(r, hidden, layers, block);
  const Count modules = r.keys.count("num_mtp_modules"), each = r.keys.count("mtp_transformer_layers", 1);
  if (r.keys.flag("use_mtp", false)) r.model.predicted_ahead = modules * each;
}

// An index that picks blocks of keys.
void read_minimax_m3(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  Attention a = attention(r, hidden, kv_of(4, 128));
  a.qk_norm = QkNorm::kHead;
  a.gated = r.keys.flag("attention_output_gate", false);
  r.keys.know({"use_qk_norm", "qk_norm_type", "use_routing_bias", "use_gemma_norm", "index_local_blocks",
               "first_k_dense_replace", "num_mtp_modules", "num_nextn_predict_layers"});
  workload::Index index{r.keys.size("index_n_heads", 4), r.keys.size("index_head_dim", 128)};
  index.weighted = false;
  Count block = r.keys.size("index_block_size", 128), blocks = r.keys.size("index_topk_blocks", 16);
  std::function<bool(Count)> sparse = [](Count) { return false; };
  if (const json::Node* inside = r.keys.value("sparse_attention_config"); inside != nullptr && inside->is_object()) {
    ConfigKeys own(*inside, r.keys.where("sparse_attention_config"), r.keys.found());
    index.heads = own.size("sparse_num_index_heads", index.heads);
    index.width = own.size("sparse_index_dim", index.width);
    block = own.size("sparse_block_size", block);
    blocks = own.size("sparse_topk_blocks", blocks);
    sparse = marked_layers(own, "sparse_attention_freq", layers, sparse);
  }
  index.top_k = block * blocks;
  const std::vector<std::string> types =
      layer_types(r, "num_hidden_layers", layers,
                  [&](Count layer) { return sparse(layer) ? "minimax_m3_sparse" : "full_attention"; },
                  {"full_attention", "minimax_m3_sparse"});
  FeedForward dense = {r.keys.size("dense_intermediate_size", 12288), true, false};
  Experts e = experts(r, r.keys.spelled({"num_local_experts", "num_experts"}), "num_experts_per_tok", 128, 4,
                      {sized(r, r.keys.spelled({"intermediate_size", "moe_intermediate_size"})), true, false});
  e.expert.clamped = dense.clamped = r.keys.number("swiglu_limit", 7) > 0;
  e.shared = 1;
  e.shared_expert = {r.keys.size("shared_intermediate_size", 3072), true, false};
  r.keys.know({"n_shared_experts"});
  Attention picked = a;
  picked.index = index;
  picked.small_parameters = 2 * index.width;  // norms
  const auto in_all = [](Count) { return true; };
  finish_four(r, hidden, types, four_kinds(a, picked, dense, e),
              mixture_layers(r, layers, marked_layers(r.keys, "moe_layer_freq", layers, in_all)));
}

// A shared expert as wide as the others. Sizes are lists in published files, with one item for each layer.
void read_hunyuan_moe(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  Attention a = attention(r, hidden, kv_of(0));
  bias_all(a, r.keys.flag("attention_bias", false));
  a.qk_norm = QkNorm::kHead;
  r.keys.know({"use_qk_norm", "attention_head_dim", "moe_intermediate_size", "num_shared_expert", "use_mixed_mlp_moe",
               "moe_layer_num_skipped", "use_cla", "cla_share_factor", "num_experts_per_tok", "norm_topk_prob"});
  const FeedForward network = {sized(r, "intermediate_size"), true, false};
  Experts e;
  const std::string_view count = r.keys.spelled({"num_experts", "num_local_experts"});
  e.count = alike(r.keys, count, 1);
  e.top_k = alike(r.keys, "moe_topk", 1);
  r.model.places["experts"] = r.keys.where(count);
  if (e.top_k > e.count)
    r.keys.found()
        .error("O0907", fmt::format("a token visits {} of {} experts", e.top_k, e.count), r.keys.where("moe_topk"))
        .hint("`moe_topk` is at most the number of experts");
  e.expert = e.shared_expert = network;
  e.shared = 1;
  Block block = mixing(a);
  block.feed_forward = e;
  finish_alike(r, hidden, layers, block);
}

// Each layer is two: attention and a network, and beside both a mixture, some of whose experts hand their input back
// (arXiv 2509.01322). The mixture stands here beside the first.
void read_longcat(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_layers");
  r.keys.know({"num_hidden_layers", "num_key_value_heads", "head_dim", "zero_expert_type", "mla_scale_q_lora",
               "mla_scale_kv_lora", "attention_method", "router_bias"});
  Attention a = attention(r, hidden, {"num_attention_heads", "", "", 0, 1});
  make_latent(r, a, 1536);
  bias_all(a, r.keys.flag("attention_bias", false));
  const FeedForward dense = {sized(r, r.keys.spelled({"ffn_hidden_size", "intermediate_size"})), true, false};
  Experts e = experts(
      r, r.keys.spelled({"n_routed_experts", "num_local_experts"}), r.keys.spelled({"moe_topk", "num_experts_per_tok"}),
      512, 12, {r.keys.size(r.keys.spelled({"expert_ffn_hidden_size", "moe_intermediate_size"}), 2048), true, false});
  e.idle = r.keys.count("zero_expert_num", 256);
  e.router_bias = r.keys.flag("router_bias", false);
  e.shared_expert = dense;
  std::vector<Block> kinds(2, mixing(a));
  kinds[0].feed_forward = e;
  kinds[1].feed_forward = dense;
  finish_kinds(
      r, hidden, 2 * layers, kinds, [](Count layer) { return static_cast<int>(layer % 2); }, false);
  r.model.predicted_ahead = predicted_ahead(r);
}

// Layers with a window have more key heads, and sinks; values are narrower than keys.
void read_mimo_v2_flash(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  Attention a = attention(r, hidden, kv_of(4, 192));
  a.value_width = r.keys.size("v_head_dim", 128);
  bias_queries_keys_values(a, r.keys.flag("attention_bias", false));
  Attention near =
      attention_of(r, hidden, r.keys.size("swa_num_attention_heads", a.heads),
                   r.keys.size("swa_num_key_value_heads", 2 * a.kv_heads), r.keys.size("swa_head_dim", a.width),
                   {"swa_num_attention_heads", "swa_num_key_value_heads", "swa_head_dim"});
  near.value_width = r.keys.size("swa_v_head_dim", a.value_width);
  near.query_bias = near.key_bias = near.value_bias = a.query_bias;
  a.sinks = r.keys.flag("add_full_attention_sink_bias", false);
  near.sinks = r.keys.flag("add_swa_attention_sink_bias", true);
  Count span = window(r, 129, false);
  // A query sees so many tokens and itself.
  if (const auto before = r.keys.optional_size("sliding_window_size"); before && span > 0) span = *before + 1;
  reach_window(near, span);
  r.keys.know({"attention_chunk_size", "attention_value_scale", "swa_rope_theta", "attention_projection_layout"});
  const auto windowed = marked_layers(r.keys, "hybrid_layer_pattern", layers,
                                      [](Count layer) { return layer > 0 && (layer + 1) % 6 != 0; });
  const std::vector<std::string> types = layer_types(
      r, "num_hidden_layers", layers,
      [&](Count layer) { return windowed(layer) ? "sliding_attention" : "full_attention"; }, full_and_sliding());
  const Count width = r.keys.size("moe_intermediate_size", 2048);
  Experts e = experts(r, r.keys.spelled({"n_routed_experts", "num_local_experts"}), "num_experts_per_tok", 256, 8,
                      {width, true, false});
  e.shared = r.keys.count("n_shared_experts", 0);
  e.shared_expert = {e.shared * width, true, false};
  limit_groups(r, e, 1, 1);
  const auto behind_first = [](Count layer) { return layer > 0; };
  finish_four(r, hidden, types, four_kinds(a, near, {sized(r, "intermediate_size"), true, false}, e),
              mixture_layers(r, layers, marked_layers(r.keys, "moe_layer_freq", layers, behind_first)));
  r.model.predicted_ahead = predicted_ahead(r);
  Block ahead = mixing(near);
  ahead.feed_forward = FeedForward{sized(r, "intermediate_size"), true, false};
  r.model.ahead.layers = {ahead};
}

// A gate for each head; layers with a window may have other heads.
void read_step3p5(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  const Count ahead = predicted_ahead(r);
  AttentionKeys named = kv_of(8, 128);
  named.kv_heads = r.keys.spelled({"num_attention_groups", "num_key_value_heads"});
  Attention a = attention(r, hidden, named);
  bias_all(a, r.keys.flag("attention_bias", false));
  a.qk_norm = QkNorm::kHead;
  Attention near = a;
  near.heads = r.keys.size("num_sliding_attention_heads", a.heads);
  if (const json::Node* inside = r.keys.value("attention_other_setting"); inside != nullptr && inside->is_object()) {
    ConfigKeys own(*inside, r.keys.where("attention_other_setting"), r.keys.found());
    near.heads = own.size("num_attention_heads", near.heads);
  }
  const Count span = window(r, 0, false);
  reach_window(near, span);
  std::vector<std::string> types = r.keys.texts("layer_types");
  // Published files have items for the layers that predict tokens beyond the next, too.
  if (types.size() != static_cast<std::size_t>(layers + ahead))
    types = layer_types(
        r, "num_hidden_layers", layers, [](Count) { return "full_attention"; }, full_and_sliding());
  const bool told = types.size() > static_cast<std::size_t>(layers);
  const bool further = told && types[static_cast<std::size_t>(layers)] == "sliding_attention";
  types.resize(static_cast<std::size_t>(layers), "full_attention");
  std::vector<Count> listed;
  const json::Node* which = r.keys.value("moe_layers_enum");
  if (which != nullptr && which->is_text()) {
    for (const std::string_view item : base::split(which->text, ','))
      if (const auto layer = base::parse_number<Count>(item)) listed.push_back(*layer);
  } else {
    listed = r.keys.counts("moe_layers_enum");
  }
  const auto named_layer = among(listed);
  const bool names = which != nullptr;
  const Count first = r.keys.count("first_k_dense_replace", 3);
  const bool mixed = names ? named_layer(layers) : layers >= first;
  Experts e = experts(r, r.keys.spelled({"moe_num_experts", "n_routed_experts", "num_local_experts", "num_experts"}),
                      r.keys.spelled({"moe_top_k", "num_experts_per_tok"}), 288, 8,
                      {r.keys.size("moe_intermediate_size", 1280), true, false});
  e.shared = r.keys.count("n_shared_experts", 1);
  const Count shared = r.keys.size(r.keys.spelled({"share_expert_dim", "share_expert_dims"}), 1280);
  e.shared_expert = {e.shared * shared, true, false};
  const bool bias = r.keys.flag("mlp_bias", false);
  e.shared_expert.biases = bias;
  std::vector<Block> kinds = four_kinds(a, near, {sized(r, "intermediate_size"), true, bias}, e);
  for (Block& kind : kinds) {
    const Attention& own = std::get<Attention>(kind.mixer);
    kind.extra = {{"layer-head-gate", hidden, own.heads}};
  }
  r.keys.know({"use_head_wise_attn_gate", "swiglu_limits", "swiglu_limits_shared", "use_moe", "moe_router_activation",
               "moe_router_scaling_factor", "need_fp32_gate", "use_moe_router_bias", "partial_rotary_factors",
               "use_rope_layers", "yarn_only_types", "zero_centered", "gating", "mtp_layer_types",
               "mtp_mlp_layer_types", "per_layer_config"});
  finish_four(r, hidden, types, kinds,
              mixture_layers(r, layers, [=](Count layer) { return names ? named_layer(layer) : layer >= first; }));
  r.model.predicted_ahead = ahead;
  // By the lists, which go on; a published file has each as a layer with a window and a network.
  r.model.ahead.known = told;
  r.model.ahead.layers = {kinds[further && mixed ? 3 : further ? 2 : mixed ? 1 : 0]};
  r.model.ahead.own_logits = true;
}

// Ling and its kin, by their published code: queries, keys and values side by side.
void read_bailing_moe(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  Attention a = attention(r, hidden, kv_of(0));
  bias_queries_keys_values(a, r.keys.flag("use_qkv_bias", false));
  const bool bias = r.keys.flag("use_bias", false);
  a.output_bias = bias;
  if (r.keys.flag("use_qk_norm", false)) a.qk_norm = QkNorm::kHead;
  const Count width = sized(r, "moe_intermediate_size");
  Experts e = experts(r, "num_experts", "num_experts_per_tok", 0, 0, {width, true, bias});
  e.shared = r.keys.count("num_shared_experts", 0);
  e.shared_expert = {r.keys.size("moe_shared_expert_intermediate_size", width) * e.shared, true, bias};
  limit_groups(r, e, 1, 1);
  r.keys.know({"use_rmsnorm", "moe_router_enable_expert_bias", "moe_router_topk_scaling_factor", "score_function",
               "router_dtype", "embedding_dropout", "norm_head", "norm_softmax"});
  Block dense = mixing(a), mixture = dense;
  dense.feed_forward = FeedForward{sized(r, "intermediate_size"), true, bias};
  mixture.feed_forward = e;
  finish_mixture(r, hidden, layers, dense, mixture, false, after_first(r, layers, 0));
  r.model.predicted_ahead = predicted_ahead(r);
}

}  // namespace orrery::formats::huggingface
