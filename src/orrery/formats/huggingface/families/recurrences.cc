// Models whose layers, or some of them, mix tokens by a recurrence: state-space models, linear attention, gated deltas,
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

struct MambaSizes {
  Count hidden = 0, inner = 0, state = 0, taps = 0, rank = 0;
  bool bias = false, convolution_bias = true;
};

// Gu and Dao, "Mamba", arXiv 2312.00752: every channel has a state of its own, and a step that is projected from it.
Recurrence mamba(const MambaSizes& s) {
  Recurrence m;
  m.kind = Recurrence::Kind::kMamba;
  m.projections = {{"in", s.hidden, 2 * s.inner, s.bias ? 2 * s.inner : 0},
                   {"x", s.inner, s.rank + 2 * s.state},
                   {"dt", s.rank, s.inner, s.inner},
                   {"out", s.inner, s.hidden, s.bias ? s.hidden : 0}};
  m.channels = s.inner;
  m.taps = s.taps;
  m.convolution_bias = s.convolution_bias;
  m.heads = s.inner;
  m.key_width = s.state;
  m.value_width = 1;
  m.small_parameters = s.inner * s.state + s.inner;  // decays; what skips the scan
  return m;
}

// The rank of the steps: a number, or "auto" for a sixteenth of the width.
Count step_rank(Reading& r, std::string_view key, Count hidden) {
  const json::Node* node = r.keys.value(key);
  if (node != nullptr && node->is_text() && node->text == "auto") return base::ceil_divide(hidden, 16);
  return r.keys.size(key, base::ceil_divide(hidden, 16));
}

Block block_of(workload::Norm norm, int norms) {
  Block block;
  block.norm = norm;
  block.norms = norms;
  return block;
}

void finish_recurrent(Reading& r, Stack stack, bool tied) {
  positions(r, stack, "max_position_embeddings", false);
  vocabulary(r, stack.width);
  logits(r, tied);
  r.model.stacks.push_back(std::move(stack));
}

// `expand` times the width, rounded down; it may be a fraction.
Count expanded(Reading& r, std::string_view key, Count hidden) {
  const double factor = r.keys.number(key, 2);
  const double inner = std::floor(factor * static_cast<double>(hidden));
  if (inner >= 1 && inner <= static_cast<double>(kLargestSize)) return static_cast<Count>(inner);
  if (hidden > 0)
    r.keys.found().error("O0910", "the inner width must be positive, and no larger than any model's",
                         r.keys.where(key));
  return 0;
}

}  // namespace

void read_mamba(Reading& r) {
  MambaSizes s;
  s.hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  s.inner = expanded(r, "expand", s.hidden);
  r.keys.know({"intermediate_size"});
  pass_layer_types(r, {"mamba", "linear_attention"});
  s.state = r.keys.size("state_size", 16);
  s.taps = r.keys.size("conv_kernel", 4);
  s.rank = step_rank(r, "time_step_rank", s.hidden);
  s.bias = r.keys.flag("use_bias", false);
  s.convolution_bias = r.keys.flag("use_conv_bias", true);
  Block block = block_of(rms_norm(), 1);
  block.mixer = mamba(s);
  Stack stack = decoder(s.hidden, rms_norm());
  add_layers(stack, layers, block);
  finish_recurrent(r, std::move(stack), true);
}

Recurrence mamba2(Reading& r, const Mamba2Sizes& s) {
  base::Diagnostics& found = r.keys.found();
  if (s.inner > 0 && s.heads * s.width != s.inner)
    found.error("O0911", "the heads do not make up the inner width", r.keys.where(s.heads_key))
        .note(std::to_string(s.heads) + " x " + std::to_string(s.width) + " is not " + std::to_string(s.inner));
  else if (s.groups > 0 && s.heads % s.groups != 0)
    found.error("O0911", fmt::format("{} groups do not divide {} heads", s.groups, s.heads), r.keys.where(s.heads_key))
        .note(fmt::format("{} / {} leaves {}: each group serves the same number of heads", s.heads, s.groups,
                          s.heads % s.groups));
  Recurrence m;
  m.kind = Recurrence::Kind::kMamba2;
  m.channels = s.inner + 2 * s.groups * s.state;
  m.taps = s.taps;
  m.convolution_bias = s.convolution_bias;
  const Count in = s.inner + m.channels + s.heads;
  m.projections = {{"in", s.hidden, in, s.bias ? in : 0}, {"out", s.inner, s.hidden, s.output_bias ? s.hidden : 0}};
  m.heads = s.heads;
  m.key_width = s.state;
  m.value_width = s.width;
  m.small_parameters = 3 * s.heads + (s.norm ? s.inner : 0);  // steps, decays, what skips the scan; a norm
  return m;
}

void read_mamba2(Reading& r) {
  Mamba2Sizes s;
  s.hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  s.inner = expanded(r, "expand", s.hidden);
  s.heads = r.keys.size("num_heads", 128);
  s.width = r.keys.size("head_dim", 64);
  s.state = r.keys.size("state_size", 128);
  s.groups = r.keys.size("n_groups", 8);
  s.bias = s.output_bias = r.keys.flag("use_bias", false);
  r.keys.know({"time_step_rank"});
  pass_layer_types(r, {"mamba2", "mamba", "linear_attention"});
  s.taps = r.keys.size("conv_kernel", 4);
  s.convolution_bias = r.keys.flag("use_conv_bias", true);
  Block block = block_of(rms_norm(), 1);
  block.mixer = mamba2(r, s);
  Stack stack = decoder(s.hidden, rms_norm());
  add_layers(stack, layers, block);
  finish_recurrent(r, std::move(stack), false);
}

namespace {

// Jamba's class takes the kinds of layers from periods; a list beside them must say the same.
void check_types(Reading& r, std::string_view key, Count layers, const std::function<bool(Count)>& attends) {
  const std::vector<std::string> types = r.keys.texts(key);
  if (!r.keys.given(key) || types.empty()) return;
  for (std::size_t i = 0; i < std::max(types.size(), static_cast<std::size_t>(layers)); ++i) {
    const bool there = i < types.size() && i < static_cast<std::size_t>(layers);
    const bool wanted = attends(static_cast<Count>(i));
    const bool attention = there && (types[i] == "attention" || types[i] == "full_attention");
    const bool scan = there && (types[i] == "mamba" || types[i] == "linear_attention");
    if (wanted ? attention : scan) continue;
    r.keys.found()
        .error("O0922", fmt::format("`{}` and the periods of the layers disagree", key), r.keys.where(key))
        .note(fmt::format("by `attn_layer_period` and `attn_layer_offset`, layer {} is {}, but the list {}", i,
                          wanted ? "attention" : "a scan",
                          there ? fmt::format("has `{}`", types[i].substr(0, 40))
                                : fmt::format("has {} items for {} layers", types.size(), layers)))
        .hint("correct the one or the other: the family's class reads the periods");
    return;
  }
}

}  // namespace

void read_jamba(Reading& r) {
  MambaSizes s;
  s.hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  const Count heads = sized(r, "num_attention_heads");
  const Attention a =
      attention_of(r, s.hidden, heads, r.keys.size("num_key_value_heads", 8, 0), r.keys.size("head_dim", 0), {});
  s.inner = expanded(r, "mamba_expand", s.hidden);
  s.state = r.keys.size("mamba_d_state", 16);
  s.taps = r.keys.size("mamba_d_conv", 4);
  s.rank = step_rank(r, "mamba_dt_rank", s.hidden);
  s.bias = r.keys.flag("mamba_proj_bias", false);
  s.convolution_bias = r.keys.flag("mamba_conv_bias", true);
  Recurrence m = mamba(s);
  m.small_parameters += s.rank + 2 * s.state;  // norms of what is projected
  const FeedForward dense = {sized(r, "intermediate_size"), true, false};
  const Experts mixture =
      experts(r, r.keys.spelled({"num_experts", "num_local_experts"}), "num_experts_per_tok", 16, 2, dense);
  const Count attention_every = r.keys.size("attn_layer_period", 8),
              attention_at = r.keys.count("attn_layer_offset", 4);
  const Count mixture_every = r.keys.size("expert_layer_period", 2),
              mixture_at = r.keys.count("expert_layer_offset", 1);
  const auto demand = [&](std::string_view offset, Count at, std::string_view period, Count every) {
    if (at < every) return;
    r.keys.found().error(
        "O0910", fmt::format("`{}` must be less than `{}`, but {} is not less than {}", offset, period, at, every),
        r.keys.where(offset));
  };
  demand("attn_layer_offset", attention_at, "attn_layer_period", attention_every);
  demand("expert_layer_offset", mixture_at, "expert_layer_period", mixture_every);
  for (const std::string_view key : {"layer_types", "layers_block_type"})
    check_types(r, key, layers, [=](Count layer) { return layer % attention_every == attention_at; });
  std::vector<Block> kinds(4, block_of(rms_norm(), 2));
  kinds[0].mixer = kinds[1].mixer = m;
  kinds[2].mixer = kinds[3].mixer = a;
  for (const std::size_t kind : {0, 2}) kinds[kind].feed_forward = dense;
  // A mixture of one expert is a feed-forward network.
  for (const std::size_t kind : {1, 3})
    if (mixture.count > 1)
      kinds[kind].feed_forward = mixture;
    else
      kinds[kind].feed_forward = dense;
  Stack stack = decoder(s.hidden, rms_norm());
  add_layers(stack, layers, kinds, [&](Count layer) {
    return (layer % attention_every == attention_at ? 2 : 0) + (layer % mixture_every == mixture_at ? 1 : 0);
  });
  finish_recurrent(r, std::move(stack), false);
}

namespace {

// Gated convolutions, and attention in some layers.
void finish_convolutions(Reading& r, Count hidden, const std::vector<std::string>& types, const Attention& a,
                         const std::vector<Block>& networks, const std::function<int(Count)>& network_of) {
  Recurrence convolution;
  convolution.kind = Recurrence::Kind::kConvolution;
  convolution.channels = hidden;
  convolution.taps = r.keys.size("conv_L_cache", 3);
  const bool bias = convolution.convolution_bias = r.keys.flag("conv_bias", false);
  convolution.projections = {{"in", hidden, 3 * hidden, bias ? 3 * hidden : 0},
                             {"out", hidden, hidden, bias ? hidden : 0}};
  convolution.heads = 0;  // no state but the window's
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
  Block block = block_of(rms_norm(), 2);
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
  std::vector<Block> networks(2, block_of(rms_norm(), 2));
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
  std::vector<Block> kinds(2, block_of(rms_norm(), 2));
  kinds[0].mixer = a;
  kinds[1].mixer = linear;
  for (Block& kind : kinds) kind.feed_forward = mixture;
  Stack stack = decoder(hidden, rms_norm());
  add_layers(stack, layers, kinds,
             [&](Count layer) { return types[static_cast<std::size_t>(layer)] == "linear_attention" ? 1 : 0; });
  finish_recurrent(r, std::move(stack), false);
}

namespace {

// Gated deltas (Yang et al., arXiv 2412.06464).
Recurrence gated_deltas(Reading& r, Count hidden) {
  const Count key_heads = r.keys.size("linear_num_key_heads", 16),
              value_heads = r.keys.size("linear_num_value_heads", 32);
  const Count key_width = r.keys.size("linear_key_head_dim", 128),
              value_width = r.keys.size("linear_value_head_dim", 128);
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
  std::vector<Block> networks(2, block_of(rms_norm(), 2));
  networks[0].feed_forward = FeedForward{r.keys.size("intermediate_size", 5632), true, false};
  networks[1].feed_forward = with_gated_shared(r, 512, 10);
  const auto is_mixture = sparse_steps(r, layers);
  finish_deltas(r, hidden, 2, networks, [&](Count layer) { return is_mixture(layer) ? 1 : 0; });
}

void read_qwen3_5(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  r.keys.know({"attn_output_gate", "mlp_only_layers", "mamba_ssm_dtype", "mtp_use_dedicated_embeddings"});
  Block block = block_of(rms_norm(), 2);
  block.feed_forward = FeedForward{sized(r, "intermediate_size"), true, false};
  finish_deltas(r, hidden, 4, {block}, [](Count) { return 0; });
  r.model.predicted_ahead = predicted_ahead(r);
}

void read_qwen3_5_moe(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  r.keys.know({"attn_output_gate", "mlp_only_layers", "mamba_ssm_dtype", "mtp_use_dedicated_embeddings",
               "intermediate_size", "decoder_sparse_step"});
  Block block = block_of(rms_norm(), 2);
  block.feed_forward = with_gated_shared(r, 256, 8);
  finish_deltas(r, hidden, 2, {block}, [](Count) { return 0; });
  r.model.predicted_ahead = predicted_ahead(r);
}

// Deltas with a decay for each channel (Kimi Delta Attention, arXiv 2510.26692), latent attention in every fourth
// layer.
void read_kimi_linear(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  Attention a = attention(r, hidden, {"num_attention_heads", "", "", 0, 1});
  r.keys.know({"num_key_value_heads", "head_dim"});
  make_latent(r, a, 0);
  bias_all(a, r.keys.flag("attention_bias", false));
  Count heads = r.keys.size("linear_num_heads", 32), width = r.keys.size("linear_head_dim", 128);
  Count taps = r.keys.size("linear_conv_kernel_dim", 4);
  std::vector<Count> full, linear;
  if (const json::Node* inside = r.keys.value("linear_attn_config"); inside != nullptr && inside->is_object()) {
    ConfigKeys own(*inside, r.keys.where("linear_attn_config"), r.keys.found());
    heads = own.size("num_heads", heads);
    width = own.size("head_dim", width);
    taps = own.size("short_conv_kernel_size", taps);
    full = layer_list(own, "full_attn_layers", layers, 1);
    linear = layer_list(own, "kda_layers", layers, 1);
    for (const json::Member& member : inside->members)
      if (!own.read().contains(member.key))
        r.keys.found()
            .warning("O0916",
                     fmt::format("nothing is known about `{}` in `linear_attn_config`", member.key.substr(0, 60)),
                     member.key_where)
            .note("it is left out of account");
  }
  const auto attends = among(full);
  const Count all = heads * width;
  Recurrence delta;
  delta.kind = Recurrence::Kind::kDelta;
  delta.projections = {{"KQV", hidden, 3 * all}, {"forget-down", hidden, width}, {"forget-up", width, all},
                       {"step", hidden, heads},  {"gate-down", hidden, width},   {"gate-up", width, all},
                       {"Out", all, hidden}};
  delta.channels = 3 * all;
  delta.taps = taps;
  delta.heads = heads;
  delta.key_width = delta.value_width = width;
  delta.small_parameters = all + heads + width;  // steps, decays; a norm
  const FeedForward dense = {sized(r, "intermediate_size"), true, false};
  const Count inner = r.keys.size("moe_intermediate_size", 1024);
  Experts mixture =
      experts(r, r.keys.spelled({"num_local_experts", "num_experts"}),
              r.keys.spelled({"num_experts_per_tok", "num_experts_per_token"}), 256, 8, {inner, true, false});
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
  std::vector<Block> kinds(4, block_of(rms_norm(), 2));
  kinds[0].mixer = kinds[1].mixer = a;
  kinds[2].mixer = kinds[3].mixer = delta;
  kinds[0].feed_forward = kinds[2].feed_forward = dense;
  kinds[1].feed_forward = kinds[3].feed_forward = mixture;
  Stack stack = decoder(hidden, rms_norm());
  add_layers(stack, layers, kinds, [&](Count layer) {
    return (types[static_cast<std::size_t>(layer)] == "linear_attention" ? 2 : 0) + (is_mixture(layer) ? 1 : 0);
  });
  finish_recurrent(r, std::move(stack), false);
  r.model.head.tied = false;  // whatever the file says
}

}  // namespace orrery::formats::huggingface
