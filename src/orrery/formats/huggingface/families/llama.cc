// Dense decoders of Llama's kind that no document can describe (described_family.h): layers without positions, and an
// activation function with parameters.
#include "orrery/formats/huggingface/families/families.h"

namespace orrery::formats::huggingface {
namespace {

using base::Count;
using workload::Attention;
using workload::Block;
using workload::FeedForward;
using workload::QkNorm;
using workload::Stack;

Block dense(const Attention& a, const FeedForward& network) {
  Block block;
  block.mixer = a;
  block.feed_forward = network;
  block.norm = rms_norm();
  return block;
}

void finish_dense(Reading& r, Stack stack, Count hidden, bool tied) {
  positions(r, stack, "max_position_embeddings", false);
  vocabulary(r, hidden);
  logits(r, tied);
  r.model.stacks.push_back(std::move(stack));
}

}  // namespace

// A window, if at all, in the layers without positions.
void read_smollm3(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  AttentionKeys named;
  named.absent_kv_heads = 4;
  Attention a = attention(r, hidden, named);
  bias_all(a, r.keys.flag("attention_bias", false));
  const FeedForward network = {sized(r, "intermediate_size"), true, r.keys.flag("mlp_bias", false)};
  const Count span = window(r, 0, true);
  const Count every = r.keys.size("no_rope_layer_interval", 4);
  const std::vector<Count> turned = r.keys.counts("no_rope_layers");
  const auto rule = [&](Count layer) {
    const auto i = static_cast<std::size_t>(layer);
    const bool rotary = i < turned.size() ? turned[i] != 0 : (layer + 1) % every != 0;
    return span > 0 && !rotary ? "sliding_attention" : "full_attention";
  };
  Stack stack = decoder(hidden, rms_norm());
  add_layers(stack, layer_types(r, "num_hidden_layers", layers, rule, {"full_attention", "sliding_attention"}),
             dense(a, network), span);
  finish_dense(r, std::move(stack), hidden, true);
}

// Without gates; the activation function has two parameters.
void read_apertus(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  Attention a = attention(r, hidden);
  bias_all(a, r.keys.flag("attention_bias", false));
  a.qk_norm = QkNorm::kHead;
  Block block = dense(a, {sized(r, "intermediate_size"), false, false});
  r.keys.know({"qk_norm", "post_norm", "mlp_bias"});
  if (r.keys.text("hidden_act", "xielu") == "xielu") block.extra_parameters = 2;
  Stack stack = decoder(hidden, rms_norm());
  add_layers(stack, layers, block);
  finish_dense(r, std::move(stack), hidden, false);
}

}  // namespace orrery::formats::huggingface
