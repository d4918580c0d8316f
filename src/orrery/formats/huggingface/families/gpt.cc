// Decoders of before Llama, and Phi: layer norms, biases, plain feed-forward networks of four times the width.
#include "orrery/formats/huggingface/families/families.h"

#include <algorithm>

namespace orrery::formats::huggingface {
namespace {

using base::Count;
using workload::Attention;
using workload::Block;
using workload::FeedForward;
using workload::Projection;
using workload::Stack;

Block plain_block(const Attention& a, Count inner, bool inner_bias) {
  Block block;
  block.mixer = a;
  block.feed_forward = FeedForward{inner, false, inner_bias};
  block.norm = layer_norm();
  return block;
}

void finish(Reading& r, Stack stack, bool tied, bool bias = false) {
  vocabulary(r, stack.width);
  logits(r, tied, bias);
  r.model.stacks.push_back(std::move(stack));
}

// Parallel: one norm feeds the attention and the feed-forward network.
Block in_parallel(Block block, int norms) {
  block.parallel = true;
  block.norms = norms;
  return block;
}

}  // namespace

void read_gpt2(Reading& r) {
  const Count hidden = sized(r, "n_embd");
  const Count layers = layers_of(r, "n_layer");
  Attention a = attention(r, hidden, {"n_head", "", ""});
  bias_all(a, true);
  Stack stack = decoder(hidden, layer_norm());
  add_layers(stack, layers, plain_block(a, r.keys.size("n_inner", 4 * hidden), true));
  positions(r, stack, "n_positions", true, 1024);
  finish(r, std::move(stack), true);
}

// GPT: norms behind the additions, none at the end.
void read_openai_gpt(Reading& r) {
  const Count hidden = sized(r, "n_embd");
  const Count layers = layers_of(r, "n_layer");
  Attention a = attention(r, hidden, {"n_head", "", ""});
  bias_all(a, true);
  Block block = plain_block(a, 4 * hidden, true);
  block.post = true;
  Stack stack = decoder(hidden, {});
  add_layers(stack, layers, block);
  positions(r, stack, "n_positions", true, 512);
  finish(r, std::move(stack), true);
}

void read_ctrl(Reading& r) {
  const Count hidden = sized(r, "n_embd");
  const Count layers = layers_of(r, "n_layer");
  Attention a = attention(r, hidden, {"n_head", "", ""});
  bias_all(a, true);
  Stack stack = decoder(hidden, layer_norm());
  add_layers(stack, layers, plain_block(a, r.keys.size("dff", 8192), true));
  positions(r, stack, "n_positions", false, 256);
  finish(r, std::move(stack), true, true);
}

void read_gptj(Reading& r) {
  const Count hidden = sized(r, "n_embd");
  const Count layers = layers_of(r, "n_layer");
  const Attention a = attention(r, hidden, {"n_head", "", ""});
  Stack stack = decoder(hidden, layer_norm());
  add_layers(stack, layers, in_parallel(plain_block(a, r.keys.size("n_inner", 4 * hidden), true), 1));
  positions(r, stack, "n_positions", false, 2048);
  finish(r, std::move(stack), false, true);
}

// Windows in the layers that are "local": by a list, else by what repeats.
void read_gpt_neo(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_layers");
  Attention a = attention(r, hidden, {"num_heads", "", ""});
  a.output_bias = true;
  std::vector<Block> kinds(2, plain_block(a, r.keys.size("intermediate_size", 4 * hidden, 4 * hidden), true));
  Attention near = a;
  reach_window(near, r.keys.size("window_size", 256));
  r.model.places["window"] = r.keys.where("window_size");
  kinds[1].mixer = near;
  std::vector<std::string> types =
      r.keys.given("attention_layers") ? r.keys.texts("attention_layers") : std::vector<std::string>();
  const json::Node* repeated = r.keys.value("attention_types");
  if (types.empty() && repeated != nullptr) {
    // [[["global", "local"], 12]]
    for (const json::Node& part : repeated->items)
      for (double i = 0; part.items.size() == 2 && i < part.items[1].number && i < static_cast<double>(layers); ++i)
        for (const json::Node& type : part.items[0].items) types.push_back(type.text);
  } else if (types.empty()) {
    for (Count i = 0; i < layers; ++i) types.emplace_back(i % 2 == 0 ? "global" : "local");
  }
  const bool known = std::all_of(types.begin(), types.end(),
                                 [](const std::string& type) { return type == "global" || type == "local"; });
  if (layers > 0 && (!known || types.size() != static_cast<std::size_t>(layers)))
    r.keys.found()
        .error("O0922", "the layers' kinds of attention and `num_layers` disagree",
               r.keys.where(r.keys.given("attention_layers") ? "attention_layers" : "attention_types"))
        .hint("each layer is \"global\" or \"local\": `[[[\"global\", \"local\"], 12]]` are 24 layers");
  types.resize(static_cast<std::size_t>(layers), "global");
  Stack stack = decoder(hidden, layer_norm());
  add_layers(stack, layers, kinds,
             [&](Count layer) { return types[static_cast<std::size_t>(layer)] == "local" ? 1 : 0; });
  positions(r, stack, "max_position_embeddings", true, 2048);
  finish(r, std::move(stack), true);
}

void read_biogpt(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  Attention a = attention(r, hidden, {"num_attention_heads", "", ""});
  bias_all(a, true);
  Stack stack = decoder(hidden, layer_norm());
  add_layers(stack, layers, plain_block(a, sized(r, "intermediate_size"), true));
  positions(r, stack, "max_position_embeddings", true, 1024, 2);
  finish(r, std::move(stack), true);
}

void read_gpt_bigcode(Reading& r) {
  const Count hidden = sized(r, "n_embd");
  const Count layers = layers_of(r, "n_layer");
  const Count heads = sized(r, "n_head");
  Attention a = attention_of(r, hidden, heads, r.keys.flag("multi_query", true) ? 1 : heads, 0, {"n_head", "", ""});
  r.keys.know({"num_key_value_heads"});  // what follows from `multi_query`
  bias_all(a, true);
  Stack stack = decoder(hidden, layer_norm());
  add_layers(stack, layers, plain_block(a, r.keys.size("n_inner", 4 * hidden), true));
  positions(r, stack, "n_positions", true, 1024);
  finish(r, std::move(stack), true);
}

void read_gpt_neox(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  Attention a = attention(r, hidden, {"num_attention_heads", "", ""});
  bias_all(a, r.keys.flag("attention_bias", true));
  Block block = plain_block(a, sized(r, "intermediate_size"), true);
  block.parallel = r.keys.flag("use_parallel_residual", true);
  Stack stack = decoder(hidden, layer_norm());
  add_layers(stack, layers, block);
  positions(r, stack, "max_position_embeddings", false, 2048);
  finish(r, std::move(stack), false);
}

// The 350M model keeps its tables narrower than its layers, and its norms behind the additions.
void read_opt(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  const bool bias = r.keys.flag("enable_bias", true);
  const bool before = r.keys.flag("do_layer_norm_before", true);
  workload::Norm norm = layer_norm();
  norm.scale = norm.bias = r.keys.flag("layer_norm_elementwise_affine", true);
  Attention a = attention(r, hidden, {"num_attention_heads", "", ""});
  bias_all(a, bias);
  Block block = plain_block(a, sized(r, "ffn_dim"), bias);
  block.norm = norm;
  block.post = !before;
  const bool last = before && !r.keys.flag("_remove_final_layer_norm", false);
  Stack stack = decoder(hidden, last ? norm : workload::Norm{});
  add_layers(stack, layers, block);
  const Count table = r.keys.size("word_embed_proj_dim", hidden);
  if (table != hidden) {
    stack.into = {Projection{"table to layers", table, hidden}};
    stack.out_of = {Projection{"layers to table", hidden, table}};
  }
  positions(r, stack, "max_position_embeddings", true, 2048, 2);
  vocabulary(r, table);
  logits(r, true);
  r.model.head.width = table;
  r.model.stacks.push_back(std::move(stack));
}

void read_bloom(Reading& r) {
  const Count hidden = sized(r, r.keys.spelled({"hidden_size", "n_embed"}));
  const Count layers = layers_of(r, r.keys.spelled({"n_layer", "num_hidden_layers"}));
  Attention a = attention(r, hidden, {r.keys.spelled({"n_head", "num_attention_heads"}), "", ""});
  bias_all(a, true);
  Stack stack = decoder(hidden, layer_norm());
  stack.entry = layer_norm();
  add_layers(stack, layers, plain_block(a, 4 * hidden, true));
  positions(r, stack, "seq_length", false);
  r.keys.know({"n_inner"});  // four times the width, whatever the file says
  finish(r, std::move(stack), true);
}

void read_falcon(Reading& r) {
  const Count hidden = sized(r, r.keys.spelled({"hidden_size", "n_embed"}));
  const Count layers = layers_of(r, r.keys.spelled({"num_hidden_layers", "n_layer"}));
  const std::string_view heads_key = r.keys.spelled({"num_attention_heads", "n_head"});
  const Count heads = sized(r, heads_key);
  const bool grouped = r.keys.flag("new_decoder_architecture", false);
  const bool one = r.keys.flag("multi_query", true);
  const Count stated = r.keys.size("num_kv_heads", 0);
  const bool parallel = r.keys.flag("parallel_attn", true);
  const bool bias = r.keys.flag("bias", false);
  Attention a = attention_of(r, hidden, heads, grouped ? stated : (one ? 1 : heads), 0,
                             {heads_key, grouped ? "num_kv_heads" : "", ""});
  bias_all(a, bias);
  Block block = plain_block(a, r.keys.size("ffn_hidden_size", 4 * hidden), bias);
  block.parallel = parallel || grouped;
  block.norms =
      !parallel ? 2 : static_cast<int>(std::min<Count>(2, r.keys.size("num_ln_in_parallel_attn", grouped ? 2 : 1)));
  r.keys.know({"num_ln_in_parallel_attn", "alibi"});
  Stack stack = decoder(hidden, layer_norm());
  add_layers(stack, layers, block);
  positions(r, stack, "max_position_embeddings", false, 2048);
  finish(r, std::move(stack), true);
}

// Nothing has a bias, norms included.
void read_mpt(Reading& r) {
  const Count hidden = sized(r, "d_model");
  const Count layers = layers_of(r, "n_layers");
  const Attention a = attention(r, hidden, {"n_heads", "", ""});
  Block block = plain_block(a, 4 * hidden, false);  // whatever `expansion_ratio` says
  block.norm = layer_norm(false);
  Stack stack = decoder(hidden, layer_norm(false));
  add_layers(stack, layers, block);
  r.keys.know({"attn_config", "expansion_ratio", "no_bias", "learned_pos_emb", "embedding_fraction"});
  positions(r, stack, "max_seq_len", false, 2048);
  finish(r, std::move(stack), true);
}

void read_phi(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  Attention a = attention(r, hidden);
  bias_all(a, true);
  if (r.keys.flag("qk_layernorm", false)) {
    a.qk_norm = workload::QkNorm::kHead;
    a.qk_norm_bias = true;
  }
  Stack stack = decoder(hidden, layer_norm());
  add_layers(stack, layers, in_parallel(plain_block(a, sized(r, "intermediate_size"), true), 1));
  positions(r, stack, "max_position_embeddings", false, 2048);
  finish(r, std::move(stack), false, true);
}

}  // namespace orrery::formats::huggingface
