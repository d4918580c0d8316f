// Dense decoders of Llama's kind that no document can describe (described_family.h): layers without positions, an
// activation function with parameters, layers that differ.
#include <fmt/format.h>

#include <algorithm>

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

namespace {

// Both parts of a layer of nemotron-nas.
struct PartKeys {
  const json::Node& part;
  ConfigKeys keys;
  PartKeys(const json::Node& node, base::Diagnostics& found) : part(node), keys(node, node.where, found) {}

  // Whether the part is there as attention, or as a network. Finds parts that one matrix stands for (O0903).
  bool there() {
    keys.know({"sparsify", "num_sink_tokens", "unshifted_sink", "use_prefill_window_in_sink_attention", "hidden_act"});
    if (keys.flag("replace_with_linear", false))
      keys.found()
          .error("O0903", "a part of a layer that one matrix replaces is not understood",
                 keys.where("replace_with_linear"))
          .hint("what is understood: the part as it is, or `no_op`");
    return !keys.flag("no_op", false);
  }
};

const json::Node* part_of(Reading& r, const json::Node& block, const char* name) {
  const json::Member* part = block.is_object() ? block.find(name) : nullptr;
  if (part != nullptr && part->value.is_object()) return &part->value;
  r.keys.found()
      .error("O0903", fmt::format("each of `block_configs` has an object `{}`", name), block.where)
      .hint("`attention` and `ffn` say what a layer has");
  return nullptr;
}

bool alike(const Block& one, const Block& other) {
  const auto *mine = std::get_if<Attention>(&one.mixer), *its = std::get_if<Attention>(&other.mixer);
  const auto *net = std::get_if<FeedForward>(&one.feed_forward),
             *theirs = std::get_if<FeedForward>(&other.feed_forward);
  return (mine == nullptr) == (its == nullptr) && (net == nullptr) == (theirs == nullptr) &&
         (mine == nullptr || (mine->kv_heads == its->kv_heads && mine->span == its->span)) &&
         (net == nullptr || net->inner == theirs->inner);
}

// A layer: its attention or none, and a network whose width is a multiple of 256, or none.
Block searched_block(Reading& r, const json::Node& node, Count hidden, Count heads, bool biases) {
  Block block;
  block.norm = rms_norm();
  block.norms = 0;
  if (const json::Node* part = part_of(r, node, "attention")) {
    PartKeys own(*part, r.keys.found());
    if (own.there()) {
      const Count group = own.keys.required("n_heads_in_group");
      Attention a = attention_of(r, hidden, heads, group > 0 ? heads / group : 0, 0, {});
      bias_all(a, biases);
      reach_window(a, own.keys.size("window_length", 0, 0));
      block.mixer = a;
      ++block.norms;
    }
  }
  if (const json::Node* part = part_of(r, node, "ffn")) {
    PartKeys own(*part, r.keys.found());
    if (own.there()) {
      const double times = own.keys.number("ffn_mult", 0);
      if (!(times > 0 && times < 1000))
        r.keys.found().error("O0910", "`ffn_mult` must be above 0 and below 1000", own.keys.where("ffn_mult"));
      const auto wide = static_cast<Count>(2 * times * static_cast<double>(hidden) / 3);
      block.feed_forward = FeedForward{(wide + 255) / 256 * 256, true, r.keys.flag("mlp_bias", false)};
      ++block.norms;
    }
  }
  return block;
}

}  // namespace

// Llama's layers after a search over their parts (Puzzle, arXiv 2411.19146): each says what it has, by the code beside
// nvidia/Llama-3_3-Nemotron-Super-49B-v1.
void read_nemotron_nas(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  const Count heads = sized(r, "num_attention_heads");
  const bool biases = r.keys.flag("attention_bias", false);
  r.keys.know({"intermediate_size", "num_key_value_heads"});
  const json::Node* blocks = r.keys.value("block_configs");
  if (blocks == nullptr || blocks->kind != json::Node::Kind::kList ||
      (layers > 0 && blocks->items.size() != static_cast<std::size_t>(layers))) {
    r.keys.found()
        .error("O0922", fmt::format("`block_configs` is a list of the {} layers", layers),
               r.keys.where("block_configs"))
        .hint("it has one item for each layer");
    return;
  }
  std::vector<Block> kinds;
  std::vector<int> which;
  for (const json::Node& node : blocks->items) {
    const Block block = searched_block(r, node, hidden, heads, biases);
    const auto known =
        std::find_if(kinds.begin(), kinds.end(), [&](const Block& other) { return alike(block, other); });
    which.push_back(static_cast<int>(known - kinds.begin()));
    if (known == kinds.end()) kinds.push_back(block);
  }
  Stack stack = decoder(hidden, rms_norm());
  add_layers(stack, layers, kinds, [&](Count layer) { return which[static_cast<std::size_t>(layer)]; });
  finish_dense(r, std::move(stack), hidden, false);
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

// Norms before what goes out of both operators, as matrices of three values need.
void read_bitnet(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  AttentionKeys named;
  named.absent_kv_heads = 5;
  Attention a = attention(r, hidden, named);
  bias_all(a, r.keys.flag("attention_bias", false));
  const Count inner = sized(r, "intermediate_size");
  Block block = dense(a, {inner, true, false});
  block.extra_parameters = base::checked_add(a.output(), inner);
  Stack stack = decoder(hidden, rms_norm());
  add_layers(stack, layers, block);
  finish_dense(r, std::move(stack), hidden, false);
}

// The table has further rows, for which there are no logits.
void read_molmo2(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  AttentionKeys named;
  named.absent_kv_heads = 8;
  named.absent_width = 128;
  Attention a = attention(r, hidden, named);
  bias_queries_keys_values(a, r.keys.flag(r.keys.spelled({"attention_bias", "qkv_bias"}), false));
  const std::string norms = r.keys.text("qk_norm_type", "qwen3");
  if (r.keys.flag("use_qk_norm", true)) a.qk_norm = norms == "qwen3" ? QkNorm::kHead : QkNorm::kAll;
  r.keys.know({"rope_scaling_layers"});
  Block block = dense(a, {sized(r, "intermediate_size"), true, false});
  block.post = r.keys.flag("norm_after", false);
  Stack stack = decoder(hidden, rms_norm());
  add_layers(stack, layers, block);
  stack.other_parameters = base::checked_multiply(r.keys.count("additional_vocab_size", 128), hidden);
  finish_dense(r, std::move(stack), hidden, false);
}

}  // namespace orrery::formats::huggingface
