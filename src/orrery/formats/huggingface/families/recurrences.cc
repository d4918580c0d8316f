// Models whose layers, or some of them, mix tokens by a recurrence: linear attention, gated deltas,
// short convolutions.
#include "orrery/formats/huggingface/families/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "orrery/formats/huggingface/families/experts.h"
#include "orrery/formats/huggingface/families/scans.h"

namespace orrery::formats::huggingface {
namespace {

using base::Count;
using workload::Attention;
using workload::Block;
using workload::Experts;
using workload::FeedForward;
using workload::QkNorm;
using workload::Recurrence;
using workload::Stack;

}  // namespace

Recurrence gated_convolution(Reading& r, Count hidden, Count absent_taps) {
  Recurrence convolution;
  convolution.kind = Recurrence::Kind::kConvolution;
  convolution.channels = hidden;
  convolution.taps = r.keys.size("conv_L_cache", absent_taps);
  const bool bias = convolution.convolution_bias = r.keys.flag("conv_bias", false);
  convolution.projections = {{"in", hidden, 3 * hidden, bias ? 3 * hidden : 0},
                             {"out", hidden, hidden, bias ? hidden : 0}};
  convolution.heads = 0;  // no state but the window's
  return convolution;
}

namespace {

// Gated convolutions, and attention in some layers.
void finish_convolutions(Reading& r, Count hidden, const std::vector<std::string>& types, const Attention& a,
                         const std::vector<Block>& networks, const std::function<int(Count)>& network_of) {
  const Recurrence convolution = gated_convolution(r, hidden, 3);
  std::vector<Block> kinds = networks;
  for (Block& kind : kinds) kind.mixer = a;
  for (Block kind : networks) {
    kind.mixer = convolution;
    kinds.push_back(kind);
  }
  Stack stack = decoder(hidden, rms_norm());
  add_layers(stack, static_cast<Count>(types.size()), kinds, [&](Count layer) {
    const int convolved = types[static_cast<std::size_t>(layer)] == "conv" ? static_cast<int>(networks.size()) : 0;
    return convolved + network_of(layer);
  });
  finish_recurrent(r, std::move(stack), r.keys.flag("tie_embedding", true));
}

}  // namespace

// Gated convolutions over three tokens, and attention in some layers. The feed-forward width is two thirds of what the
// file says, rounded up to a multiple.
void read_lfm2(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  AttentionKeys named;
  named.absent_kv_heads = 8;
  Attention a = attention(r, hidden, named);
  a.qk_norm = QkNorm::kHead;
  r.keys.know({"num_heads"});
  Count inner = sized(r, r.keys.spelled({"block_ff_dim", "intermediate_size"}));
  const double factor = r.keys.number("block_ffn_dim_multiplier", 1);
  const Count multiple = r.keys.size("block_multiple_of", 256);
  if (r.keys.flag("block_auto_adjust_ff_dim", true)) {
    const double scaled = std::floor(factor * static_cast<double>(2 * inner / 3));
    if (!(scaled >= 1 && scaled <= static_cast<double>(kLargestSize)))
      r.keys.found().error("O0910", "the feed-forward width must be positive, and no larger than any model's",
                           r.keys.where("block_ffn_dim_multiplier"));
    else
      inner = multiple * base::ceil_divide(static_cast<Count>(scaled), multiple);
  }
  const auto attends = among(layer_list(r.keys, "full_attn_idxs", layers));
  const bool states = r.keys.given("full_attn_idxs");
  const std::vector<std::string> types = layer_types(
      r, "num_hidden_layers", layers,
      [&](Count layer) { return !states || attends(layer) ? "full_attention" : "conv"; }, {"full_attention", "conv"});
  Block block = rms_block(2);
  block.feed_forward = FeedForward{inner, true, false};
  finish_convolutions(r, hidden, types, a, {block}, [](Count) { return 0; });
}

// The same with experts behind the first layers.
void read_lfm2_moe(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  AttentionKeys named;
  named.absent_kv_heads = 8;
  Attention a = attention(r, hidden, named);
  a.qk_norm = QkNorm::kHead;
  r.keys.know({"use_expert_bias"});
  std::vector<Block> networks(2, rms_block(2));
  networks[0].feed_forward = FeedForward{sized(r, "intermediate_size"), true, false};
  networks[1].feed_forward = experts(r, r.keys.spelled({"num_experts", "num_local_experts"}), "num_experts_per_tok", 32,
                                     4, {r.keys.size("moe_intermediate_size", 1792), true, false});
  const Count dense = r.keys.count("num_dense_layers", 2);
  if (!r.keys.given("layer_types")) r.keys.required("layer_types");
  const std::vector<std::string> types =
      layer_types(r, "num_hidden_layers", layers, [](Count) { return "conv"; }, {"full_attention", "conv"});
  finish_convolutions(r, hidden, types, a, networks, [=](Count layer) { return layer < dense ? 0 : 1; });
}

// Linear attention with decays ("lightning attention"), softmax attention in some layers, a mixture in all.
void read_minimax(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  AttentionKeys named;
  named.absent_kv_heads = 8;
  Attention a = attention(r, hidden, named);
  Recurrence linear;
  linear.kind = Recurrence::Kind::kLinearAttention;
  const Count all = a.query();
  linear.projections = {{"KQV", hidden, 3 * all}, {"gate", hidden, all}, {"Out", all, hidden}};
  linear.heads = a.heads;
  linear.key_width = linear.value_width = a.width;
  linear.small_parameters = all;  // a norm
  reach_window(a, window(r, 0, false));
  const Experts mixture = experts(r, r.keys.spelled({"num_local_experts", "num_experts"}), "num_experts_per_tok", 8, 2,
                                  {sized(r, "intermediate_size"), true, false});
  const std::vector<std::string> types =
      layer_types(r, "num_hidden_layers", layers,
                  [](Count layer) { return (layer + 1) % 2 != 0 ? "full_attention" : "linear_attention"; },
                  {"full_attention", "linear_attention"});
  std::vector<Block> kinds(2, rms_block(2));
  kinds[0].mixer = a;
  kinds[1].mixer = linear;
  for (Block& kind : kinds) kind.feed_forward = mixture;
  Stack stack = decoder(hidden, rms_norm());
  add_layers(stack, layers, kinds,
             [&](Count layer) { return types[static_cast<std::size_t>(layer)] == "linear_attention" ? 1 : 0; });
  finish_recurrent(r, std::move(stack), false);
}

Recurrence gated_deltas(Reading& r, Count hidden, const DeltaSizes& absent) {
  const Count key_heads = r.keys.size("linear_num_key_heads", absent.key_heads),
              value_heads = r.keys.size("linear_num_value_heads", absent.value_heads);
  const Count key_width = r.keys.size("linear_key_head_dim", absent.key_width),
              value_width =
                  r.keys.size("linear_value_head_dim", absent.value_width > 0 ? absent.value_width : 2 * key_width);
  const Count keys = key_heads * key_width, values = value_heads * value_width;
  if (value_heads % key_heads != 0)
    r.keys.found()
        .error("O0912", "the key heads of linear attention do not divide its value heads",
               r.keys.where("linear_num_key_heads"))
        .note(fmt::format("{} / {} leaves {}: each key head serves the same number of value heads", value_heads,
                          key_heads, value_heads % key_heads));
  Recurrence delta;
  delta.kind = Recurrence::Kind::kDelta;
  delta.projections = {
      {"KQV-gate", hidden, 2 * keys + 2 * values}, {"decay", hidden, 2 * value_heads}, {"Out", values, hidden}};
  delta.channels = 2 * keys + values;
  delta.taps = r.keys.size("linear_conv_kernel_dim", 4);
  delta.heads = value_heads;
  delta.key_width = key_width;
  delta.value_width = value_width;
  delta.small_parameters = 2 * value_heads + value_width;  // steps, decays; a norm
  return delta;
}

namespace {

// Three layers of four are gated deltas; attention has a gate of its own.
void finish_deltas(Reading& r, Count hidden, Count absent_kv_heads, const std::vector<Block>& networks,
                   const std::function<int(Count)>& network_of) {
  const Count layers = layers_of(r, "num_hidden_layers");
  AttentionKeys named;
  named.absent_kv_heads = absent_kv_heads;
  named.absent_width = 256;
  Attention a = attention(r, hidden, named);
  bias_all(a, r.keys.flag("attention_bias", false));
  a.qk_norm = QkNorm::kHead;
  a.gated = true;
  const Recurrence delta = gated_deltas(r, hidden);
  const Count every = r.keys.size("full_attention_interval", 4);
  const std::vector<std::string> types =
      layer_types(r, "num_hidden_layers", layers,
                  [=](Count layer) { return (layer + 1) % every != 0 ? "linear_attention" : "full_attention"; },
                  {"full_attention", "linear_attention"});
  std::vector<Block> kinds = networks;
  for (Block& kind : kinds) kind.mixer = a;
  for (Block kind : networks) {
    kind.mixer = delta;
    kinds.push_back(kind);
  }
  const int recurrent = static_cast<int>(networks.size());
  Stack stack = decoder(hidden, rms_norm());
  add_layers(stack, layers, kinds, [&](Count layer) {
    return (types[static_cast<std::size_t>(layer)] == "linear_attention" ? recurrent : 0) + network_of(layer);
  });
  finish_recurrent(r, std::move(stack), false);
  // Attention to all tokens, behind whichever layer.
  r.model.predicted_ahead = predicted_ahead(r);
  r.model.ahead.known = !r.keys.flag("mtp_use_dedicated_embeddings", false);
  r.model.ahead.layers = {kinds[static_cast<std::size_t>(recurrent) - 1]};
}

Experts with_gated_shared(Reading& r, Count count, Count top_k) {
  Experts mixture = experts(r, r.keys.spelled({"num_experts", "num_local_experts"}), "num_experts_per_tok", count,
                            top_k, {r.keys.size("moe_intermediate_size", 512), true, false});
  mixture.shared = 1;
  mixture.shared_expert = {r.keys.size("shared_expert_intermediate_size", 512), true, false};
  mixture.shared_gate = true;
  return mixture;
}

}  // namespace

void read_qwen3_next(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  std::vector<Block> networks(2, rms_block(2));
  networks[0].feed_forward = FeedForward{r.keys.size("intermediate_size", 5632), true, false};
  networks[1].feed_forward = with_gated_shared(r, 512, 10);
  const auto is_mixture = sparse_steps(r, layers);
  finish_deltas(r, hidden, 2, networks, [&](Count layer) { return is_mixture(layer) ? 1 : 0; });
}

void read_qwen3_5(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  r.keys.know({"attn_output_gate", "mlp_only_layers", "mamba_ssm_dtype"});
  Block block = rms_block(2);
  block.feed_forward = FeedForward{sized(r, "intermediate_size"), true, false};
  finish_deltas(r, hidden, 4, {block}, [](Count) { return 0; });
}

void read_qwen3_5_moe(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  r.keys.know({"attn_output_gate", "mlp_only_layers", "mamba_ssm_dtype", "intermediate_size", "decoder_sparse_step"});
  Block block = rms_block(2);
  block.feed_forward = with_gated_shared(r, 256, 8);
  finish_deltas(r, hidden, 2, {block}, [](Count) { return 0; });
}

}  // namespace orrery::formats::huggingface
