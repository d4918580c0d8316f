// Counted from the modules of each class. With h the width, f the feed-forward width, V the vocabulary:
//
//   bert, roberta   embedding's norm 2h, token types; head: transform h^2 + h, its norm 2h, bias V
//   distilbert      embedding's norm 2h; the same head
//   gpt2, gpt_neox  last norm 2h; gpt_neox without attention_bias: less all biases around attention
//   opt             last norm 2h where norms go before; 2 positions more than stated
//   llama, ...      last norm h; biases of projections where asked for; qwen2: of queries, keys and values always
//   nemotron        norms have biases: 2h a block more, last norm 2h
//   deepseek_v3     norms of the latents
//
// The tests compare with counts of the classes themselves. Cost: constant.
#include "orrery/formats/huggingface/class_parameters.h"

namespace orrery::formats::huggingface {
namespace {

struct Widths {
  explicit Widths(const workload::TransformerConfig& config)
      : hidden(static_cast<double>(config.hidden)),
        query(static_cast<double>(config.heads) * static_cast<double>(config.head_dim)),
        key_value(static_cast<double>(config.kv_heads) * static_cast<double>(config.head_dim)),
        inner(static_cast<double>(config.feed_forward)) {}
  double hidden, query, key_value, inner;
};

double each_layer(const Family& family, const ClassSwitches& switches, const workload::TransformerConfig& config) {
  const Widths w(config);
  const double attention = w.query + 2 * w.key_value + w.hidden;
  double extra = 0;
  if (config.latent) {
    const auto q = static_cast<double>(config.latent->q_rank), kv = static_cast<double>(config.latent->kv_rank);
    extra += q + kv;
    if (switches.attention_bias) extra += q + kv + static_cast<double>(config.latent->rope_width) + w.hidden;
  } else if (family.model_type == "gpt_neox") {
    if (!switches.attention_bias) extra -= attention;
  } else if (family.model_type == "qwen2") {
    extra += w.query + 2 * w.key_value;
  } else if (switches.attention_bias) {
    extra += attention;
  }
  if (switches.mlp_bias) extra += (family.gated ? 2 : 1) * w.inner + w.hidden;
  if (family.model_type == "nemotron") extra += 2 * w.hidden;
  // Of a block without biases the norms' scales alone are counted.
  if (switches.no_biases) extra += 2 * w.hidden;
  if (switches.plain_norms) extra -= 4 * w.hidden;
  return extra;
}

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

bool count_class_parameters(const Family& family, const ClassSwitches& switches, workload::TransformerConfig& config) {
  const double h = static_cast<double>(config.hidden);
  const double transform = h * h + h + 2 * h + static_cast<double>(config.vocab);
  const double pooler = h * h + h;
  const std::string& name = switches.architecture;
  config.each_layer_parameters = each_layer(family, switches, config);
  const bool encoder = family.model_type == "bert" || family.model_type == "roberta";
  bool known = name.empty();
  double outside = 0;
  if (encoder || family.model_type == "distilbert") {
    outside = 2 * h + transform;
    if (encoder) outside += static_cast<double>(switches.token_types) * h;
    if (ends_with(name, "ForPreTraining") && family.model_type == "bert") {
      outside += pooler + 2 * h + 2;  // and which sentence comes next
      known = true;
    }
    known = known || ends_with(name, "ForMaskedLM");
    known = known || (encoder && (ends_with(name, "LMHeadModel") || ends_with(name, "ForCausalLM")));
  } else {
    const bool two = family.model_type == "nemotron" || !family.rms_norm;
    if (switches.final_norm && !switches.plain_norms) outside = (two ? 2 : 1) * h;
    if (family.model_type == "opt") outside += 2 * h;
    known = known || ends_with(name, "ForCausalLM") || ends_with(name, "LMHeadModel");
  }
  config.outside_parameters = outside;
  return known;
}

}  // namespace orrery::formats::huggingface
