// Gemma 3n and Gemma 4: a table that a token adds from to every layer, layers that use the keys and values of others,
// wide heads in layers that see all tokens, experts beside a dense network.
#include "orrery/formats/huggingface/families/families.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/formats/huggingface/families/experts.h"

namespace orrery::formats::huggingface {
namespace {

using base::Count;
using workload::Attention;
using workload::Block;
using workload::Experts;
using workload::FeedForward;
using workload::Projection;
using workload::QkNorm;
using workload::Stack;

// The last layers that use the keys and values of layers before; a layer of each type must come before them.
Count borrowing(Reading& r, const std::vector<std::string>& types, Count absent) {
  const Count layers = static_cast<Count>(types.size());
  const Count last = r.keys.count("num_kv_shared_layers", absent);
  if (last == 0 || layers == 0) return layers;
  const Count first = layers - last;
  const bool lend = first > 0 && std::all_of(types.begin(), types.end(), [&](const std::string& type) {
                      return std::find(types.begin(), types.begin() + static_cast<std::ptrdiff_t>(first), type) !=
                             types.begin() + static_cast<std::ptrdiff_t>(first);
                    });
  if (lend) return first;
  r.keys.found()
      .error("O0922", fmt::format("`num_kv_shared_layers` is {}, but there are {} layers", last, layers),
             r.keys.where("num_kv_shared_layers"))
      .note("they use the keys and values of a layer of their type before them, and there is none of every type")
      .hint("make it less than the number of layers");
  return layers;
}

// Files that the library writes have what differs by layer: the heads of those that see all tokens, which are alike.
void of_layers(Reading& r, Count& kv_heads, Count& width) {
  const json::Node* layers = r.keys.value("per_layer_config");
  if (layers == nullptr || !layers->is_object()) return;
  bool first = true;
  for (const json::Member& layer : layers->members) {
    if (!layer.value.is_object()) continue;
    ConfigKeys own(layer.value, layer.value.where, r.keys.found());
    const Count keys = own.size("num_key_value_heads", kv_heads), wide = own.size("head_dim", width);
    if (!first && (keys != kv_heads || wide != width)) {
      r.keys.found()
          .error("O0903", "layers that see all tokens have heads of several sizes, which is not understood",
                 layer.value.where)
          .label(fmt::format("{} key/value heads of {}, before it {} of {}", keys, wide, kv_heads, width));
      return;
    }
    kv_heads = keys;
    width = wide;
    first = false;
  }
}

// What every layer takes from the table, and how it adds it.
void add_layer_inputs(Reading& r, Stack& stack, std::vector<Block>& kinds, Count layers, Count width) {
  if (width == 0) return;
  for (Block& kind : kinds) {
    kind.extra.push_back({"layer-gate", stack.width, width});
    kind.extra.push_back({"layer-out", width, stack.width});
    ++kind.norms;
  }
  r.model.layer_rows = r.keys.size("vocab_size_per_layer_input", 262144);
  r.model.layer_width = base::checked_multiply(layers, width);
  stack.into.push_back({"layer-inputs", stack.width, r.model.layer_width});
  stack.other_parameters = base::checked_add(stack.other_parameters, width);  // a norm
}

std::vector<std::string> window_types(Reading& r, Count layers, Count every) {
  return layer_types(r, "num_hidden_layers", layers,
                     [=](Count layer) { return (layer + 1) % every != 0 ? "sliding_attention" : "full_attention"; },
                     {"full_attention", "sliding_attention"});
}

void finish_gemma(Reading& r, Stack stack) {
  positions(r, stack, "max_position_embeddings", false);
  vocabulary(r, stack.width);
  logits(r, true);
  r.model.stacks.push_back(std::move(stack));
}

// Streams beside the residual one, of which a layer predicts all and corrects them (AltUp, arXiv 2301.13310), and a
// narrow network beside attention (LAuReL, arXiv 2411.07501).
void add_streams(Reading& r, Stack& stack, Block& block) {
  const Count width = stack.width, rank = r.keys.size("laurel_rank", 64);
  const Count streams = r.keys.size("altup_num_inputs", 4);
  r.keys.know({"altup_active_idx", "altup_coef_clip", "altup_correct_scale", "activation_sparsity_pattern",
               "altup_lr_multiplier"});
  block.extra = {{"layer-laurel-down", width, rank},
                 {"layer-laurel-up", rank, width},
                 {"layer-route", width, streams},
                 {"layer-predict", streams, base::checked_multiply(streams, streams)},
                 {"layer-correct", streams, streams}};
  block.norms += 2;
  block.extra_parameters = width;  // a scale
  for (Count i = 1; i < std::min<Count>(streams, 1000); ++i) {
    stack.into.push_back({"streams", width, width});
    stack.out_of.push_back({"streams-out", width, width});
  }
}

}  // namespace

void read_gemma3n(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  AttentionKeys named;
  named.absent_kv_heads = 2;
  named.absent_width = 256;
  Attention a = attention(r, hidden, named);
  bias_all(a, r.keys.flag("attention_bias", false));
  a.qk_norm = QkNorm::kHead;
  const Count span = window(r, 512, false);
  const std::vector<std::string> types = window_types(r, layers, 5);
  const Count first = borrowing(r, types, 15);
  // Networks of several widths.
  std::vector<Count> inner = {1};
  const json::Node* listed = r.keys.value("intermediate_size");
  if (listed == nullptr || listed->kind != json::Node::Kind::kList) {
    inner = {sized(r, "intermediate_size")};
  } else if (inner = r.keys.counts("intermediate_size"); layers > 0 && inner.size() != types.size()) {
    r.keys.found()
        .error("O0922",
               fmt::format("the length of `intermediate_size` is {}, but there are {} layers", inner.size(), layers),
               r.keys.where("intermediate_size"))
        .hint("it is one number, or one for each layer");
    return;
  }
  std::vector<Count> widths = inner;
  std::sort(widths.begin(), widths.end());
  widths.erase(std::unique(widths.begin(), widths.end()), widths.end());
  if (!widths.empty() && (widths.front() < 1 || widths.back() > kLargestSize)) {
    r.keys.found().error("O0910", "a network's width must be positive, and no larger than any model's",
                         r.keys.where("intermediate_size"));
    return;
  }
  Stack stack = decoder(hidden, rms_norm());
  Block block;
  block.norm = rms_norm();
  block.norms = 4;
  add_streams(r, stack, block);
  std::vector<Block> kinds;  // by width, each with a window, keys of its own, both, neither
  for (const Count width : widths)
    for (int kind = 0; kind < 4; ++kind) {
      Attention own = a;
      if (kind % 2 == 1) reach_window(own, span);
      own.borrows = kind >= 2;
      block.mixer = own;
      block.feed_forward = FeedForward{width, true, false};
      kinds.push_back(block);
    }
  add_layer_inputs(r, stack, kinds, layers, r.keys.size("hidden_size_per_layer_input", 256));
  add_layers(stack, layers, kinds, [&](Count layer) {
    const auto i = static_cast<std::size_t>(layer);
    const Count width = inner.size() == 1 ? inner.front() : inner[i];
    const auto at = std::lower_bound(widths.begin(), widths.end(), width) - widths.begin();
    return static_cast<int>(at) * 4 + (layer >= first ? 2 : 0) + (types[i] == "sliding_attention" ? 1 : 0);
  });
  finish_gemma(r, std::move(stack));
}

void read_gemma4(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  AttentionKeys named;
  named.absent_kv_heads = 4;
  named.absent_width = 256;
  Attention near = attention(r, hidden, named);
  bias_all(near, r.keys.flag("attention_bias", false));
  near.qk_norm = QkNorm::kHead;
  r.keys.know({"vocab_size_per_layer_input"});
  const bool equal = r.keys.flag("attention_k_eq_v", false);
  Count far_keys = r.keys.size("num_global_key_value_heads", near.kv_heads);
  Count far_width = r.keys.size("global_head_dim", 512);
  if (!equal) far_keys = near.kv_heads;
  of_layers(r, far_keys, far_width);
  Attention far = attention_of(r, hidden, near.heads, far_keys, far_width,
                               {"num_attention_heads", "num_global_key_value_heads", "global_head_dim"});
  bias_all(far, near.query_bias);
  far.qk_norm = QkNorm::kHead;
  far.value_is_key = equal;
  if (r.keys.text("use_bidirectional_attention") == "all") near.causal = far.causal = false;
  reach_window(near, window(r, 512, false));
  std::vector<std::string> types = window_types(r, layers, 6);
  if (!types.empty()) types.back() = "full_attention";  // whatever the file says
  const Count first = borrowing(r, types, 0);
  const FeedForward dense = {sized(r, "intermediate_size"), true, false};
  const Count wider = r.keys.flag("use_double_wide_mlp", false) ? 2 : 1;
  const bool mixes = r.keys.flag("enable_moe_block", false);
  Experts e;
  if (mixes) {
    e = experts(r, "num_experts", r.keys.spelled({"top_k_experts", "num_experts_per_tok"}), 0, 0,
                {sized(r, "moe_intermediate_size"), true, false});
    e.shared = 1;
  } else {
    r.keys.know({"num_experts", "top_k_experts", "moe_intermediate_size"});
  }
  Stack stack = decoder(hidden, rms_norm());
  stack.causal = near.causal;
  std::vector<Block> kinds;  // with a window, keys of its own, both, neither
  for (int kind = 0; kind < 4; ++kind) {
    Attention own = kind % 2 == 1 ? near : far;
    own.borrows = kind >= 2;
    Block block;
    block.norm = rms_norm();
    block.norms = mixes ? 7 : 4;
    block.mixer = own;
    FeedForward network = dense;
    if (own.borrows) network.inner *= wider;
    block.feed_forward = network;
    if (mixes) {
      e.shared_expert = network;
      block.feed_forward = e;
      block.extra_parameters = hidden + e.count;  // scales of the router's input and of its outputs
    }
    kinds.push_back(block);
  }
  const bool unified = r.model.family.starts_with("gemma4_unified");
  add_layer_inputs(r, stack, kinds, layers, r.keys.count("hidden_size_per_layer_input", unified ? 0 : 256));
  add_layers(stack, layers, kinds, [&](Count layer) {
    const bool windowed = types[static_cast<std::size_t>(layer)] == "sliding_attention";
    return (layer >= first ? 2 : 0) + (windowed ? 1 : 0);
  });
  finish_gemma(r, std::move(stack));
}

}  // namespace orrery::formats::huggingface
