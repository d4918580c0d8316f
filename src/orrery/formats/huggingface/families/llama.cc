// Dense decoders of Llama's kind: rotary positions, grouped queries, gated feed-forward networks, norms without biases,
// and what each family changes of that.
#include "orrery/formats/huggingface/families/families.h"

namespace orrery::formats::huggingface {
namespace {

using base::Count;
using workload::Attention;
using workload::Block;
using workload::FeedForward;
using workload::QkNorm;
using workload::Stack;

// What families of this kind differ in.
struct Kind {
  AttentionKeys attention = {};
  bool tied = false;
  workload::Norm norm = rms_norm();
  int norms = 2;
  bool gated = true;
};

// A model under construction: the stack without layers, the block that they are made of.
struct Draft {
  Count hidden = 0, layers = 0;
  Attention attention;
  FeedForward feed_forward;
  Block block;
};

Draft draft(Reading& r, const Kind& kind) {
  Draft d;
  d.hidden = sized(r, "hidden_size");
  d.layers = layers_of(r, "num_hidden_layers");
  d.attention = attention(r, d.hidden, kind.attention);
  d.feed_forward = {sized(r, "intermediate_size"), kind.gated, false};
  d.block.norm = kind.norm;
  d.block.norms = kind.norms;
  return d;
}

// `types`: of each layer; empty: all alike, and windowed where `span` is not 0.
void finish(Reading& r, const Kind& kind, Draft d, Count span = 0, std::vector<std::string> types = {},
            bool head_bias = false) {
  d.block.mixer = d.attention;
  d.block.feed_forward = d.feed_forward;
  Stack stack = decoder(d.hidden, kind.norm);
  if (types.empty()) types.assign(static_cast<std::size_t>(d.layers), "sliding_attention");
  add_layers(stack, types, d.block, span);
  positions(r, stack, "max_position_embeddings", false);
  vocabulary(r, d.hidden);
  logits(r, kind.tied, head_bias);
  r.model.stacks.push_back(std::move(stack));
}

const std::vector<std::string>& full_or_sliding() {
  static const std::vector<std::string> types = {"full_attention", "sliding_attention"};
  return types;
}

// Every `pattern`-th layer sees all tokens.
std::vector<std::string> alternating(Reading& r, Count layers, Count pattern) {
  const Count every = r.keys.size("sliding_window_pattern", pattern);
  return layer_types(
      r, "num_hidden_layers", layers,
      [every](Count layer) { return (layer + 1) % every != 0 ? "sliding_attention" : "full_attention"; },
      full_or_sliding());
}

// The layers from `max_window_layers` on have the window.
std::vector<std::string> last_windowed(Reading& r, Count layers, Count span, Count absent_full) {
  const Count full = r.keys.count("max_window_layers", absent_full);
  return layer_types(
      r, "num_hidden_layers", layers,
      [=](Count layer) { return span > 0 && layer >= full ? "sliding_attention" : "full_attention"; },
      full_or_sliding());
}

Kind heads_of(Count absent_kv_heads, Count absent_width = 0) {
  Kind kind;
  kind.attention.absent_kv_heads = absent_kv_heads;
  kind.attention.absent_width = absent_width;
  return kind;
}

}  // namespace

void read_llama(Reading& r) {
  const Kind kind;
  Draft d = draft(r, kind);
  bias_all(d.attention, r.keys.flag("attention_bias", false));
  d.feed_forward.biases = r.keys.flag("mlp_bias", false);
  finish(r, kind, d);
}

void read_granite(Reading& r) {
  read_llama(r);
}

void read_smollm3(Reading& r) {
  Kind kind = heads_of(4);
  kind.tied = true;
  Draft d = draft(r, kind);
  bias_all(d.attention, r.keys.flag("attention_bias", false));
  d.feed_forward.biases = r.keys.flag("mlp_bias", false);
  const Count span = window(r, 0, true);
  const Count every = r.keys.size("no_rope_layer_interval", 4);
  const std::vector<Count> turned = r.keys.counts("no_rope_layers");
  finish(r, kind, d, span,
         layer_types(
             r, "num_hidden_layers", d.layers,
             [&](Count layer) {
               const auto i = static_cast<std::size_t>(layer);
               const bool rotary = i < turned.size() ? turned[i] != 0 : (layer + 1) % every != 0;
               return span > 0 && !rotary ? "sliding_attention" : "full_attention";
             },
             full_or_sliding()));
}

void read_mistral(Reading& r) {
  const Kind kind = heads_of(8);
  const Draft d = draft(r, kind);
  const Count span = window(r, 4096, false);
  pass_layer_types(r, {span > 0 ? "sliding_attention" : "full_attention"});
  finish(r, kind, d, span);
}

void read_qwen2(Reading& r) {
  const Kind kind = heads_of(32);
  Draft d = draft(r, kind);
  bias_queries_keys_values(d.attention, true);
  const Count span = window(r, 4096, true);
  finish(r, kind, d, span, last_windowed(r, d.layers, span, 28));
}

void read_qwen3(Reading& r) {
  const Kind kind = heads_of(32, 128);
  Draft d = draft(r, kind);
  bias_all(d.attention, r.keys.flag("attention_bias", false));
  d.attention.qk_norm = QkNorm::kHead;
  const Count span = window(r, 4096, true);
  finish(r, kind, d, span, last_windowed(r, d.layers, span, 28));
}

void read_phi3(Reading& r) {
  const Kind kind;
  const Draft d = draft(r, kind);
  r.keys.know({"attention_bias"});  // there is none, whatever the file says
  finish(r, kind, d, window(r, 0, false));
}

void read_gemma(Reading& r) {
  Kind kind = heads_of(16, 256);
  kind.tied = true;
  Draft d = draft(r, kind);
  bias_all(d.attention, r.keys.flag("attention_bias", false));
  finish(r, kind, d);
}

// Norms before and behind both operators; scores pass a tanh; every other layer has a window.
void read_gemma2(Reading& r) {
  Kind kind = heads_of(4, 256);
  kind.tied = true;
  kind.norms = 4;
  Draft d = draft(r, kind);
  bias_all(d.attention, r.keys.flag("attention_bias", false));
  d.attention.softcap = r.keys.number("attn_logit_softcapping", 50) > 0;
  finish(r, kind, d, window(r, 4096, false), alternating(r, d.layers, 2));
}

void read_gemma3(Reading& r) {
  Kind kind = heads_of(4, 256);
  kind.tied = true;
  kind.norms = 4;
  Draft d = draft(r, kind);
  bias_all(d.attention, r.keys.flag("attention_bias", false));
  d.attention.qk_norm = QkNorm::kHead;
  d.attention.softcap = r.keys.number("attn_logit_softcapping", 0) > 0;
  finish(r, kind, d, window(r, 4096, false), alternating(r, d.layers, 6));
}

// One norm without a bias feeds attention and feed-forward network side by side.
void read_cohere(Reading& r) {
  Kind kind;
  kind.tied = true;
  kind.norm = layer_norm(false);
  kind.norms = 1;
  Draft d = draft(r, kind);
  d.block.parallel = true;
  bias_all(d.attention, r.keys.flag("attention_bias", false));
  if (r.keys.flag("use_qk_norm", false)) d.attention.qk_norm = QkNorm::kEachHead;
  finish(r, kind, d);
}

void read_cohere2(Reading& r) {
  Kind kind;
  kind.tied = true;
  kind.norm = layer_norm(false);
  kind.norms = 1;
  Draft d = draft(r, kind);
  d.block.parallel = true;
  bias_all(d.attention, r.keys.flag("attention_bias", false));
  finish(r, kind, d, window(r, 4096, false), alternating(r, d.layers, 4));
}

// Norms behind the operators, and of all queries and all keys.
void read_olmo2(Reading& r) {
  const Kind kind;
  Draft d = draft(r, kind);
  d.block.post = true;
  d.attention.qk_norm = QkNorm::kAll;
  bias_all(d.attention, r.keys.flag("attention_bias", false));
  finish(r, kind, d);
}

void read_starcoder2(Reading& r) {
  Kind kind = heads_of(2);
  kind.tied = true;
  kind.norm = layer_norm();
  kind.gated = false;
  Draft d = draft(r, kind);
  const bool bias = r.keys.flag("use_bias", true);
  bias_all(d.attention, bias);
  d.feed_forward.biases = bias;
  finish(r, kind, d, window(r, 0, false));
}

void read_nemotron(Reading& r) {
  Kind kind;
  kind.norm = layer_norm();
  kind.gated = false;
  Draft d = draft(r, kind);
  bias_all(d.attention, r.keys.flag("attention_bias", false));
  d.feed_forward.biases = r.keys.flag("mlp_bias", false);
  finish(r, kind, d);
}

void read_glm(Reading& r) {
  const Kind kind = heads_of(2, 128);
  Draft d = draft(r, kind);
  bias_queries_keys_values(d.attention, r.keys.flag("attention_bias", true));
  finish(r, kind, d);
}

void read_glm4(Reading& r) {
  Kind kind = heads_of(2, 128);
  kind.norms = 4;
  Draft d = draft(r, kind);
  bias_queries_keys_values(d.attention, r.keys.flag("attention_bias", true));
  finish(r, kind, d);
}

void read_seed_oss(Reading& r) {
  const Kind kind = heads_of(8, 128);
  Draft d = draft(r, kind);
  bias_queries_keys_values(d.attention, r.keys.flag("attention_bias", true));
  d.attention.output_bias = r.keys.flag("attention_out_bias", false);
  d.feed_forward.biases = r.keys.flag("mlp_bias", false);
  finish(r, kind, d);
}

// Without gates; the activation function has two parameters.
void read_apertus(Reading& r) {
  Kind kind;
  kind.gated = false;
  Draft d = draft(r, kind);
  bias_all(d.attention, r.keys.flag("attention_bias", false));
  d.attention.qk_norm = QkNorm::kHead;
  r.keys.know({"qk_norm", "post_norm", "mlp_bias"});
  if (r.keys.text("hidden_act", "xielu") == "xielu") d.block.extra_parameters = 2;
  finish(r, kind, d);
}

// olmo2's layers, three of four with a window.
void read_olmo3(Reading& r) {
  const Kind kind;
  Draft d = draft(r, kind);
  d.block.post = true;
  d.attention.qk_norm = QkNorm::kAll;
  bias_all(d.attention, r.keys.flag("attention_bias", false));
  finish(r, kind, d, window(r, 4096, false), alternating(r, d.layers, 4));
}

void read_hunyuan(Reading& r) {
  const Kind kind;
  Draft d = draft(r, kind);
  bias_all(d.attention, r.keys.flag("attention_bias", false));
  d.attention.qk_norm = QkNorm::kHead;
  r.keys.know({"use_qk_norm", "attention_head_dim", "use_cla", "cla_share_factor"});
  finish(r, kind, d);
}

void read_ernie4_5(Reading& r) {
  Kind kind = heads_of(2, 128);
  kind.tied = true;
  Draft d = draft(r, kind);
  const bool bias = r.keys.flag("use_bias", false);
  bias_all(d.attention, bias);
  d.feed_forward.biases = bias;
  finish(r, kind, d);
}

// Qwen 2's layers, and some that predict tokens beyond the next.
void read_mimo(Reading& r) {
  read_qwen2(r);
  r.keys.know({"attention_bias"});
  r.model.predicted_ahead = r.keys.count("num_nextn_predict_layers");
}

}  // namespace orrery::formats::huggingface
