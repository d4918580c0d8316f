// Encoders: BERT and its kin. Norms stand after the additions, every product has a bias, and the head transforms the
// last layer before the logits.
#include "orrery/formats/huggingface/families/families.h"

#include <fmt/format.h>

#include <string>

namespace orrery::formats::huggingface {
namespace {

using base::Count;
using workload::Attention;
using workload::Block;
using workload::FeedForward;
using workload::Projection;
using workload::Stack;

struct BertKeys {
  std::string_view hidden = "hidden_size", layers = "num_hidden_layers", heads = "num_attention_heads",
                   inner = "intermediate_size", positions = "max_position_embeddings";
  bool types = true;    // of tokens
  bool decodes = true;  // may be told to be a decoder
};

// The stack; tables are `table` wide (0: as the stack).
Stack bert_stack(Reading& r, const BertKeys& named, Count table) {
  const Count hidden = sized(r, named.hidden);
  const Count layers = layers_of(r, named.layers);
  Attention a = attention(r, hidden, {named.heads, "", ""});
  bias_all(a, true);
  const bool causal = named.decodes && r.keys.flag("is_decoder", false);
  a.causal = causal;
  Block block;
  block.mixer = a;
  block.feed_forward = FeedForward{sized(r, named.inner), false, true};
  block.norm = layer_norm();
  // Some of BERT's kin have norms before the operators.
  const std::string& type = r.model.family;
  const bool before = type == "roberta-prelayernorm" || type == "megatron-bert" || type == "xlm-roberta-xl";
  block.post = !before;
  Stack stack = encoder(hidden, before ? layer_norm() : workload::Norm{});
  stack.causal = causal;
  if (!before || type == "roberta-prelayernorm") stack.entry = layer_norm();
  stack.entry_width = stack.position_width = table;
  add_layers(stack, layers, block);
  positions(r, stack, named.positions, true, 512);
  vocabulary(r, table > 0 ? table : hidden);
  if (named.types) r.model.token_types = r.keys.count("type_vocab_size", 2);
  return stack;
}

// Transform, norm, logits on the tokens' table with a bias of their own.
void masked_head(Reading& r, Count hidden, Count table, bool second_bias = false) {
  logits(r, true, true);
  r.model.head.transform = {Projection{"head transform", hidden, table, table}};
  r.model.head.norm = layer_norm();
  r.model.head.norm_width = table;
  // The class keeps a second bias that it no longer shares.
  if (!r.model.head.tied && second_bias) r.model.head.extra.push_back({"second bias", 0, 0, r.model.vocab});
}

}  // namespace

void read_bert(Reading& r) {
  Stack stack = bert_stack(r, {}, 0);
  masked_head(r, stack.width, stack.width, true);
  r.model.stacks.push_back(std::move(stack));
}

// Positions count from the padding's token + 1, so that the table has rows that no sequence reaches.
void read_roberta(Reading& r) {
  read_bert(r);
  if (!r.model.max_positions) return;
  const json::Node* padding = r.keys.value("pad_token_id");
  const double reserved = (padding != nullptr && padding->is_number() ? padding->number : 1) + 1;
  if (reserved >= 1 && reserved < static_cast<double>(*r.model.max_positions))
    *r.model.max_positions -= static_cast<Count>(reserved);
}

void read_distilbert(Reading& r) {
  BertKeys named;
  named.hidden = "dim";
  named.layers = "n_layers";
  named.heads = "n_heads";
  named.inner = "hidden_dim";
  named.types = named.decodes = false;
  Stack stack = bert_stack(r, named, 0);
  masked_head(r, stack.width, stack.width);
  r.model.stacks.push_back(std::move(stack));
}

// A narrow table, widened before the first layer, and few sets of weights for many layers.
void read_albert(Reading& r) {
  BertKeys named;
  named.decodes = false;
  const Count table = r.keys.size("embedding_size", 128);
  Stack stack = bert_stack(r, named, table);
  stack.into = {Projection{"table to layers", table, stack.width, stack.width}};
  const Count inner = r.keys.size("inner_group_num", 1);
  const Count groups = r.keys.size("num_hidden_groups", 1), layers = static_cast<Count>(stack.layers.size());
  if (layers > 0 && groups > layers)
    r.keys.found()
        .error("O0922", fmt::format("`num_hidden_groups` is {}, but `num_hidden_layers` is {}", groups, layers),
               r.keys.where("num_hidden_groups"))
        .also(r.keys.where("num_hidden_layers"), fmt::format("{} layers", layers))
        .hint("layers share the weights of a group: at most one group for each layer");
  stack.weight_sets = base::checked_multiply(groups, inner);
  const std::vector<int> once = stack.layers;
  if (!once.empty() && inner > kMostLayers / static_cast<Count>(once.size()))
    r.keys.found()
        .error("O0910", "the layers are more than any model's", r.keys.where("inner_group_num"))
        .note(std::to_string(once.size()) + " x " + std::to_string(inner) + " exceeds " + std::to_string(kMostLayers));
  else
    for (Count i = 1; i < inner; ++i) stack.layers.insert(stack.layers.end(), once.begin(), once.end());
  masked_head(r, stack.width, table, true);
  r.model.stacks.push_back(std::move(stack));
}

void read_electra(Reading& r) {
  const Count table = r.keys.size("embedding_size", 128);
  Stack stack = bert_stack(r, {}, table);
  if (table != stack.width) stack.into = {Projection{"table to layers", table, stack.width, stack.width}};
  masked_head(r, stack.width, table);
  r.model.stacks.push_back(std::move(stack));
}

// Rotary positions, gated feed-forward networks, and windows in two layers of three.
void read_modernbert(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  const bool norm_bias = r.keys.flag("norm_bias", false);
  Attention a = attention(r, hidden, {"num_attention_heads", "", ""});
  a.causal = r.model.family == "modernbert-decoder";
  bias_all(a, r.keys.flag("attention_bias", false));
  Block full;
  full.feed_forward = FeedForward{sized(r, "intermediate_size"), true, r.keys.flag("mlp_bias", false)};
  full.norm = layer_norm(norm_bias);
  full.mixer = a;
  Block local = full;
  a.reach = workload::Reach::kWindow;
  if (!r.ignores("local_attention")) {
    a.span = r.keys.size("local_attention", 128);
    r.model.places["window"] = r.keys.where("local_attention");
    local.mixer = a;
  }
  const Count every = r.keys.size("global_attn_every_n_layers", 3);
  const std::vector<std::string> types =
      layer_types(r, "num_hidden_layers", layers,
                  [&](Count layer) { return layer % every == 0 ? "full_attention" : "sliding_attention"; },
                  {"full_attention", "sliding_attention"});
  // The first layer reads what the tables' norm has made: it has no norm before its attention.
  Block first_full = full, first_local = local;
  first_full.norms = first_local.norms = 1;
  Stack stack = a.causal ? decoder(hidden, layer_norm(norm_bias)) : encoder(hidden, layer_norm(norm_bias));
  stack.entry = layer_norm(norm_bias);
  add_layers(stack, layers, {full, local, first_full, first_local}, [&](Count layer) {
    return (types[static_cast<std::size_t>(layer)] == "sliding_attention" ? 1 : 0) + (layer == 0 ? 2 : 0);
  });
  positions(r, stack, "max_position_embeddings", false, 8192);
  vocabulary(r, hidden);
  logits(r, true, r.keys.flag("decoder_bias", true));
  r.model.head.transform = {
      Projection{"head transform", hidden, hidden, r.keys.flag("classifier_bias", false) ? hidden : 0}};
  r.model.head.norm = layer_norm(norm_bias);
  r.model.head.norm_width = hidden;
  r.model.stacks.push_back(std::move(stack));
}

}  // namespace orrery::formats::huggingface
