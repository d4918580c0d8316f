// Younger models whose layers mix tokens in two or three ways: Mamba-2, deltas, convolutions or gated linear
// recurrences beside attention; and RWKV, which has no attention.
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
using workload::Recurrence;
using workload::Stack;

namespace {

// The place of each layer's type among `known`.
std::function<int(Count)> places_in(const std::vector<std::string>& types, const std::vector<std::string>& known) {
  return [=](Count layer) {
    const auto at = std::find(known.begin(), known.end(), types[static_cast<std::size_t>(layer)]);
    return static_cast<int>(at - known.begin());
  };
}

AttentionKeys kv_heads_of(Count absent) {
  AttentionKeys named;
  named.absent_kv_heads = absent;
  return named;
}

}  // namespace

// Mamba-2 in all layers but those of `attn_layer_indices`.
void read_bamba(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  Attention a = attention(r, hidden, kv_heads_of(8));
  bias_all(a, r.keys.flag("attention_bias", false));
  const Mamba2Sizes s = mamba2_sizes(r, hidden, base::checked_multiply(r.keys.size("mamba_expand", 2), hidden));
  r.keys.know({"z_loss_coefficient", "num_logits_to_keep"});
  pass_layer_types(r, {"linear_attention", "full_attention"});
  const auto attends = among(layer_list(r.keys, "attn_layer_indices", layers));
  std::vector<Block> kinds(2, rms_block(2));
  kinds[0].mixer = mamba2(r, s);
  kinds[1].mixer = a;
  for (Block& kind : kinds)
    kind.feed_forward = FeedForward{sized(r, "intermediate_size"), true, r.keys.flag("mlp_bias", false)};
  finish_kinds(
      r, hidden, layers, kinds, [&](Count layer) { return attends(layer) ? 1 : 0; }, false);
}

// Gated deltas with norms before the operators, attention with norms behind them.
void read_olmo_hybrid(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  Attention a = attention(r, hidden);
  bias_all(a, r.keys.flag("attention_bias", false));
  a.qk_norm = QkNorm::kAll;
  r.keys.know({"linear_allow_neg_eigval", "linear_a_log_min", "linear_a_log_max", "linear_dt_min", "linear_dt_max",
               "linear_dt_init_floor"});
  const Count heads = std::max<Count>(1, a.heads);
  std::vector<Block> kinds(2, rms_block(2));
  kinds[0].mixer = gated_deltas(r, hidden, {heads, heads, std::max<Count>(1, 3 * hidden / (4 * heads)), 0});
  kinds[1].mixer = a;
  kinds[1].post = true;
  for (Block& kind : kinds) kind.feed_forward = FeedForward{sized(r, "intermediate_size"), true, false};
  const std::vector<std::string> known = {"linear_attention", "full_attention"};
  const std::vector<std::string> types = layer_types(
      r, "num_hidden_layers", layers,
      [=](Count layer) { return known[layer % 4 == 3 || (layers < 4 && layer + 1 == layers) ? 1 : 0]; }, known);
  finish_kinds(r, hidden, layers, kinds, places_in(types, known), false);
}

// Gated convolutions, windows and attention to all tokens, with a gate for each head; norms around the operators.
void read_lfm3(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  Attention a = attention(r, hidden, kv_heads_of(4));
  bias_all(a, r.keys.flag("attention_bias", false));
  a.qk_norm = QkNorm::kHead;
  const bool around = r.keys.flag("use_sandwich_norm", true);
  std::vector<Block> kinds(3, rms_block(around ? 4 : 2));
  kinds[0].mixer = gated_convolution(r, hidden, 7);
  kinds[2].mixer = a;
  reach_window(a, window(r, 256, false));
  kinds[1].mixer = a;
  if (r.keys.flag("use_attention_gate", true)) kinds[1].extra = kinds[2].extra = {{"layer-head-gate", hidden, a.heads}};
  for (Block& kind : kinds) kind.feed_forward = FeedForward{sized(r, "intermediate_size"), true, false};
  const std::vector<std::string> known = {"conv", "sliding_attention", "full_attention"};
  const std::vector<std::string> types = layer_types(
      r, "num_hidden_layers", layers,
      [=](Count layer) {
        return known[layer % 4 == 2 ? 2 : layer % 4 == 0 && layer > 0 ? 1 : 0];
      },
      known);
  finish_kinds(r, hidden, layers, kinds, places_in(types, known), true);
}

// Gated deltas, windows and attention to all tokens, five layers a period; experts with a shared one in every layer.
void read_lara_mini(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  AttentionKeys named = kv_heads_of(4);
  named.absent_width = 128;
  Attention a = attention(r, hidden, named);
  bias_all(a, r.keys.flag("attention_bias", false));
  a.qk_norm = QkNorm::kHead;
  Experts e = experts(r, r.keys.spelled({"num_experts", "num_local_experts"}), "num_experts_per_tok", 128, 4,
                      {r.keys.size("moe_intermediate_size", 512), true, false});
  e.shared = 1;
  e.shared_expert = {r.keys.size("shared_expert_intermediate_size", 512), true, false};
  std::vector<Block> kinds(3, rms_block(2));
  kinds[0].mixer = gated_deltas(r, hidden, {8, 16, 128, 128});
  kinds[2].mixer = a;
  reach_window(a, window(r, 512, false));
  kinds[1].mixer = a;
  for (Block& kind : kinds) kind.feed_forward = e;
  const std::vector<std::string> known = {"linear_attention", "sliding_attention", "full_attention"};
  constexpr int kPeriod[] = {0, 1, 0, 2, 1};
  const std::vector<std::string> types = layer_types(
      r, "num_hidden_layers", layers, [=](Count layer) { return known[static_cast<std::size_t>(kPeriod[layer % 5])]; },
      known);
  finish_kinds(r, hidden, layers, kinds, places_in(types, known), true);
}

// Griffin (De et al., arXiv 2402.19427): a linear recurrence whose gates are matrices of a head's width, behind a
// convolution; windows in one layer of three. The feed-forward network is half as wide as the file says.
void read_recurrent_gemma(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  AttentionKeys named;
  named.absent_kv_heads = 0;
  Attention a = attention(r, hidden, named);
  bias_queries_keys_values(a, r.keys.flag("attention_bias", false));
  a.output_bias = true;
  const std::string_view span = r.keys.spelled({"attention_window_size", "sliding_window"});
  r.model.places["window"] = r.keys.where(span);
  reach_window(a, r.keys.size(span, 2048));
  r.keys.know({"w_init_variance_scale", "final_w_init_variance_scale", "logits_soft_cap"});
  const Count width = r.keys.size("lru_width", hidden, hidden);
  if (a.heads > 0 && width % a.heads != 0)
    r.keys.found().error("O0911", "the heads do not divide the width of the recurrence",
                         r.keys.where("num_attention_heads"));
  Recurrence lru;
  lru.kind = Recurrence::Kind::kGatedLinear;
  lru.projections = {{"in", hidden, width, width},
                     {"gate", hidden, width, width},
                     {"x", width / std::max<Count>(1, a.heads), 2 * width},  // a block a head
                     {"out", width, hidden, hidden}};
  lru.channels = width;
  lru.taps = r.keys.size("conv1d_width", 4);
  lru.convolution_bias = true;
  lru.heads = width;
  lru.key_width = lru.value_width = 1;
  lru.small_parameters = 3 * width;  // decays; biases of both gates
  std::vector<Block> kinds(2, rms_block(2));
  kinds[0].mixer = lru;
  kinds[1].mixer = a;
  for (Block& kind : kinds)
    kind.feed_forward = FeedForward{std::max<Count>(1, sized(r, "intermediate_size") / 2), true, true};
  std::vector<std::string> period = r.keys.texts("block_types");
  if (period.empty()) period = {"recurrent", "recurrent", "attention"};
  for (const std::string& type : period)
    if (type != "recurrent" && type != "attention") {
      r.keys.found()
          .error("O0903", "layers of type `" + type.substr(0, 60) + "` are not understood", r.keys.where("block_types"))
          .hint("a layer is `recurrent` or `attention`");
      break;
    }
  finish_kinds(
      r, hidden, layers, kinds,
      [&](Count layer) { return period[static_cast<std::size_t>(layer) % period.size()] == "attention" ? 1 : 0; },
      true);
}

// Peng et al., arXiv 2305.13048: a weighted sum of values for each channel, kept as numerator, denominator and largest
// exponent; both parts of a layer read the token before, too.
void read_rwkv(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  const Count width = r.keys.size("attention_hidden_size", hidden, hidden);
  r.keys.know({"rescale_every"});
  Recurrence m;
  m.kind = Recurrence::Kind::kLinearAttention;
  m.projections = {{"KV", hidden, 2 * width}, {"gate", hidden, width}, {"Out", width, hidden}};
  m.channels = 2 * hidden;  // of tokens and those before them, here and before the network
  m.taps = 2;
  m.heads = width;
  m.key_width = 1;
  m.value_width = 3;
  m.small_parameters = 2 * width + hidden;  // decays, what the first token adds; a fifth set of weights of two tokens
  Block block = rms_block(2);
  block.norm = layer_norm();
  block.mixer = m;
  block.feed_forward = FeedForward{r.keys.size("intermediate_size", 4 * hidden, 4 * hidden), false, false};
  block.extra = {{"layer-receptance", hidden, hidden}};
  Stack stack = decoder(hidden, layer_norm());
  stack.entry = layer_norm();
  add_layers(stack, layers, block);
  positions(r, stack, "context_length", false);
  vocabulary(r, hidden);
  logits(r, false);
  r.model.stacks.push_back(std::move(stack));
}

}  // namespace orrery::formats::huggingface
