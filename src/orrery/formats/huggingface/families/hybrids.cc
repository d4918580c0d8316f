// Models that mix attention and Mamba-2: in layers of their own (Nemotron-H, Granite 4), or side by side (Falcon-H1);
// and, by a pattern, layers with a mixture or a network alone.
#include <fmt/format.h>

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

Mamba2Sizes mamba2_sizes(Reading& r, Count hidden, Count inner) {
  Mamba2Sizes s;
  s.hidden = hidden;
  s.inner = inner;
  s.heads = r.keys.size("mamba_n_heads", 128);
  s.heads_key = "mamba_n_heads";
  const json::Node* width = r.keys.value("mamba_d_head");
  const bool computed = width == nullptr || (width->is_text() && width->text == "auto");
  s.width = computed ? std::max<Count>(1, inner / std::max<Count>(1, s.heads)) : r.keys.size("mamba_d_head", 64);
  s.state = r.keys.size("mamba_d_state", 256);
  s.groups = r.keys.size("mamba_n_groups", 1);
  s.taps = r.keys.size("mamba_d_conv", 4);
  s.bias = s.output_bias = r.keys.flag("mamba_proj_bias", false);
  s.convolution_bias = r.keys.flag("mamba_conv_bias", true);
  r.keys.know({"mamba_chunk_size"});
  return s;
}

namespace {

// The kind of each layer by name; a pattern has a letter for each.
std::vector<std::string> block_types(Reading& r) {
  std::vector<std::string> types;
  std::string_view key = r.keys.spelled({"layers_block_type", "layer_types"});
  if (const json::Node* pattern = r.keys.value("hybrid_override_pattern");
      !r.keys.given(key) && pattern != nullptr && pattern->is_text()) {
    key = "hybrid_override_pattern";
    for (const char letter : pattern->text) types.emplace_back(1, letter);
  } else {
    types = r.keys.texts(key);
  }
  if (types.empty()) r.keys.required(key);
  const Count layers = layers_of(r, "num_hidden_layers", static_cast<Count>(types.size()));
  if (layers != static_cast<Count>(types.size()) && !types.empty() && layers > 0)
    r.keys.found()
        .error("O0922", fmt::format("`{}` has {} layers, but `num_hidden_layers` is {}", key, types.size(), layers),
               r.keys.where(key))
        .also(r.keys.where("num_hidden_layers"), fmt::format("{} layers", layers))
        .hint("it has one item for each layer");
  return types;
}

}  // namespace

void read_nemotron_h(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const std::vector<std::string> types = block_types(r);
  AttentionKeys named;
  named.absent_kv_heads = 8;
  named.absent_width = 128;
  const Attention a = attention(r, hidden, named);
  r.keys.know({"attention_bias", "expand", "mamba_proj_bias", "moe_shared_expert_overlap", "n_shared_experts",
               "sliding_window", "mamba_ssm_cache_dtype", "chunk_size"});
  Mamba2Sizes s;
  s.hidden = hidden;
  s.heads = r.keys.size("mamba_num_heads", 128);
  s.heads_key = "mamba_num_heads";
  s.width = r.keys.size("mamba_head_dim", 64);
  s.inner = s.heads * s.width;
  s.state = r.keys.size("ssm_state_size", 128);
  s.groups = r.keys.size(r.keys.spelled({"n_groups", "mamba_n_groups"}), 8);
  s.taps = r.keys.size(r.keys.spelled({"conv_kernel", "mamba_d_conv"}), 4);
  s.bias = s.output_bias = r.keys.flag("use_bias", false);
  s.convolution_bias = r.keys.flag(r.keys.spelled({"use_conv_bias", "mamba_conv_bias"}), true);
  const bool bias = r.keys.flag("mlp_bias", false);
  std::vector<Block> kinds(4, rms_block(1));
  kinds[0].mixer = mamba2(r, s);
  kinds[1].mixer = a;
  const auto has = [&](std::string_view letter, std::string_view name) {
    return std::any_of(types.begin(), types.end(),
                       [&](const std::string& type) { return type == letter || type == name; });
  };
  kinds[2].feed_forward = FeedForward{r.keys.size("intermediate_size", 21504), false, bias};
  if (has("E", "moe")) {
    Experts e = experts(r, r.keys.spelled({"n_routed_experts", "num_local_experts"}), "num_experts_per_tok", 8, 2,
                        {r.keys.size("moe_intermediate_size", 7688), false, false});
    e.shared = 1;
    e.shared_expert = {r.keys.size("moe_shared_expert_intermediate_size", 7688), false, bias};
    e.latent = r.keys.size("moe_latent_size", 0, 0);
    limit_groups(r, e, 1, 1);
    kinds[3].feed_forward = e;
    if (e.latent > 0 && bias) kinds[3].extra_parameters = e.latent + hidden;
  } else {
    r.keys.know({"n_routed_experts", "num_local_experts", "num_experts_per_tok", "moe_intermediate_size",
                 "moe_shared_expert_intermediate_size", "moe_latent_size", "n_group", "topk_group"});
  }
  const auto kind_named = [](const std::string& type) {
    if (type == "M" || type == "mamba" || type == "linear_attention") return 0;
    if (type == "*" || type == "attention" || type == "full_attention") return 1;
    if (type == "-" || type == "mlp") return 2;
    if (type == "E" || type == "moe") return 3;
    return -1;
  };
  const auto kind_of = [&](Count layer) { return kind_named(types[static_cast<std::size_t>(layer)]); };
  for (Count layer = 0; layer < static_cast<Count>(types.size()); ++layer)
    if (kind_of(layer) < 0) {
      r.keys.found()
          .error(
              "O0903",
              fmt::format("layer {} is of type `{}`, which is not understood", layer,
                          types[static_cast<std::size_t>(layer)].substr(0, 40)),
              r.keys.where(r.keys.given("hybrid_override_pattern") ? "hybrid_override_pattern" : "layers_block_type"))
          .hint("a layer is `M` (Mamba-2), `*` (attention), `-` (a network) or `E` (a mixture of experts)");
      return;
    }
  finish_kinds(r, hidden, static_cast<Count>(types.size()), kinds, kind_of, false);
  r.model.predicted_ahead = predicted_ahead(r);
  // A letter for each layer of a module; without any, nobody knows.
  std::vector<std::string> ahead = r.keys.texts("mtp_layers_block_type");
  if (ahead.empty())
    for (const char letter : r.keys.text("mtp_hybrid_override_pattern", "")) ahead.emplace_back(1, letter);
  r.model.ahead.known = !ahead.empty();
  for (const std::string& type : ahead) {
    const int kind = kind_named(type);
    if (kind < 0 || (kind == 3 && !has("E", "moe")))
      r.model.ahead.known = false;
    else
      r.model.ahead.layers.push_back(kinds[static_cast<std::size_t>(kind)]);
  }
}

// A mixture, and beside it a network that every token visits; without experts, that network alone.
void read_granite_hybrid(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  AttentionKeys named;
  Attention a = attention(r, hidden, named);
  bias_all(a, r.keys.flag("attention_bias", false));
  r.keys.know({"position_embedding_type", "init_method", "normalization_function", "mlp_bias"});
  std::vector<std::string> types = r.keys.texts(r.keys.spelled({"layer_types", "layers_block_type"}));
  for (std::string& type : types)
    type = type == "mamba" ? "linear_attention" : type == "attention" ? "full_attention" : type;
  const bool named_types = !types.empty();
  if (!named_types) types.assign(static_cast<std::size_t>(layers), "linear_attention");
  for (std::size_t i = 0; i < std::max(types.size(), static_cast<std::size_t>(layers)); ++i) {
    const bool there = i < types.size() && i < static_cast<std::size_t>(layers);
    if (there && (types[i] == "linear_attention" || types[i] == "full_attention")) continue;
    if (layers == 0) return;
    r.keys.found()
        .error(there ? "O0903" : "O0922",
               there ? fmt::format("layers of type `{}` are not understood", types[i].substr(0, 60))
                     : fmt::format("the length of `layer_types` is {}, but there are {} layers", types.size(), layers),
               r.keys.where(r.keys.given("layer_types") ? "layer_types" : "layers_block_type"))
        .hint("it has `mamba` or `attention` for each layer");
    return;
  }
  const bool scans = std::find(types.begin(), types.end(), "linear_attention") != types.end();
  const Count inner = base::checked_multiply(r.keys.size("mamba_expand", 2), hidden);
  const FeedForward shared = {r.keys.size("shared_intermediate_size", 1024), true, false};
  const std::string_view count = r.keys.spelled({"num_local_experts", "num_experts"});
  std::vector<Block> kinds(2, rms_block(2));
  if (r.keys.given(count) && r.keys.count(count) == 0) {
    r.keys.know({"num_experts_per_tok", "intermediate_size"});
    for (Block& kind : kinds) kind.feed_forward = shared;
  } else {
    Experts e = experts(r, count, "num_experts_per_tok", 8, 2, {sized(r, "intermediate_size"), true, false});
    e.shared = 1;
    e.shared_expert = shared;
    for (Block& kind : kinds) kind.feed_forward = e;
  }
  kinds[0].mixer = a;
  const Mamba2Sizes s = mamba2_sizes(r, hidden, inner);
  if (scans) kinds[1].mixer = mamba2(r, s);
  finish_kinds(
      r, hidden, layers, kinds,
      [&](Count layer) { return types[static_cast<std::size_t>(layer)] == "linear_attention" ? 1 : 0; }, false);
}

void read_falcon_h1(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  AttentionKeys named;
  named.absent_kv_heads = 8;
  Attention a = attention(r, hidden, named);
  bias_all(a, r.keys.flag("attention_bias", false));
  const Count expand = r.keys.size("mamba_expand", 2);
  const Count inner = r.keys.size("mamba_d_ssm", 1024, 0);
  Mamba2Sizes s = mamba2_sizes(r, hidden, inner > 0 ? inner : base::checked_multiply(expand, hidden));
  s.output_bias = r.keys.flag("projectors_bias", false);
  s.norm = r.keys.flag("mamba_rms_norm", false);
  r.keys.know({"mamba_norm_before_gate", "mamba_use_mlp", "lm_head_multiplier", "mlp_multipliers", "key_multiplier",
               "attention_out_multiplier", "attention_in_multiplier", "ssm_multipliers", "ssm_in_multiplier",
               "ssm_out_multiplier", "mlp_expansion_factor", "attn_layer_indices"});
  Block block = rms_block(2);
  block.mixer = a;
  block.beside = mamba2(r, s);
  block.feed_forward = FeedForward{sized(r, "intermediate_size"), true, r.keys.flag("mlp_bias", false)};
  finish_kinds(
      r, hidden, layers, {block}, [](Count) { return 0; }, false);
}

}  // namespace orrery::formats::huggingface
