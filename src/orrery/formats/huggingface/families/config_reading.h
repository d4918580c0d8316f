// What the readers of the families share: the keys most of them have, and the parts that most models are made of.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/describe/workload/transformer.h"
#include "orrery/formats/huggingface/families/config_keys.h"

namespace orrery::formats::huggingface {

struct Reading {
  ConfigKeys& keys;
  workload::Transformer& model;
  const json::Node* outer = nullptr;                  // what `text_config` stands in
  const std::vector<std::string>* ignored = nullptr;  // keys that the user leaves out of account
  std::string outer_type = {};                        // `model_type` of the whole file

  bool ignores(std::string_view key) const;
};

workload::Norm layer_norm(bool bias = true);
workload::Norm rms_norm();

// A size that must be there; its place is kept.
base::Count sized(Reading& r, std::string_view key);
// The number of layers.
inline constexpr base::Count kMostLayers = 1'000'000;
base::Count layers_of(Reading& r, std::string_view key);
base::Count layers_of(Reading& r, std::string_view key, base::Count absent);

// Keys of attention; an empty one: the family has no such key. What their absence means: 0 heads of keys are as many
// as query heads, a width of 0 is the model's divided by the heads.
struct AttentionKeys {
  std::string_view heads = "num_attention_heads", kv_heads = "num_key_value_heads", width = "head_dim";
  base::Count absent_kv_heads = 0, absent_width = 0;
};

// Finds heads that do not divide the width (O0911), and key/value heads that do not divide the heads (O0912).
workload::Attention attention(Reading& r, base::Count hidden, const AttentionKeys& named = {});
// Sets heads, key/value heads and widths; used where the keys are not the usual ones.
workload::Attention attention_of(Reading& r, base::Count hidden, base::Count heads, base::Count kv_heads,
                                 base::Count width, const AttentionKeys& named);
void bias_queries_keys_values(workload::Attention& attention, bool bias);
void bias_all(workload::Attention& attention, bool bias);
// Gated by a matrix of its own, which has no bias where that of the queries has one.
void gate_without_bias(workload::Attention& attention);

// Latent attention in place of plain: O0902 where ranks and widths are missing.
void make_latent(Reading& r, workload::Attention& attention, base::Count absent_q_rank);

// What `layer_types` says of each layer, else `absent`. Finds lists that are not as long as there are layers (O0922),
// and types that are not among `known` (O0903).
using LayerRule = std::function<std::string(base::Count layer)>;
std::vector<std::string> layer_types(Reading& r, std::string_view layers_key, base::Count layers,
                                     const LayerRule& absent, const std::vector<std::string>& known);

// Knows of `layer_types` where the family's class does not read it; warns where it says something else than `said`
// (O0927).
void pass_layer_types(Reading& r, const std::vector<std::string>& said);

// `mlp_layer_types`: whether each layer's network is a mixture ("sparse"), else as `absent` says. Finds O0922 and O0903
// as `layer_types`.
std::function<bool(base::Count)> mixture_layers(Reading& r, base::Count layers,
                                                const std::function<bool(base::Count)>& absent);

// The list of layers under `key`, which count from `first`. Finds layers that are not there (O0922).
std::vector<base::Count> layer_list(ConfigKeys& keys, std::string_view key, base::Count layers, base::Count first = 0);

// A list of a 1 or a 0 for each layer; `absent` says where there is none. Finds lists that are too short or too long
// (O0922).
std::function<bool(base::Count)> marked_layers(ConfigKeys& keys, std::string_view key, base::Count layers,
                                               const std::function<bool(base::Count)>& absent);

// Warns (O0916) of keys of the object under `key` that nobody read.
void name_unread(Reading& r, const ConfigKeys& own, std::string_view key);

// What all layers have, written as one number or as a list of it; `absent` where the key is. Finds layers that differ
// (O0903).
base::Count alike(ConfigKeys& keys, std::string_view key, base::Count absent);

// Whether a layer is among `layers`, however many those are.
std::function<bool(base::Count)> among(std::vector<base::Count> layers);

// Blocks alike apart from their attention's reach: `window` tokens in layers of type "sliding_attention".
void add_layers(workload::Stack& stack, const std::vector<std::string>& types, const workload::Block& block,
                base::Count window);
// `kind_of` says which of `kinds` each layer is; kinds that no layer is of are left out.
void add_layers(workload::Stack& stack, base::Count layers, std::vector<workload::Block> kinds,
                const std::function<int(base::Count layer)>& kind_of);
void add_layers(workload::Stack& stack, base::Count layers, const workload::Block& block);

workload::Stack decoder(base::Count width, workload::Norm exit);
workload::Stack encoder(base::Count width, workload::Norm exit);

// The table of tokens, `width` wide, and logits over it.
void vocabulary(Reading& r, base::Count width, std::string_view key = "vocab_size");
void logits(Reading& r, bool tied_if_absent, bool bias = false);
// The most tokens that a sequence may have, under `key`; a learned table has as many rows, and `more`.
void positions(Reading& r, workload::Stack& stack, std::string_view key, bool learned, base::Count absent = 0,
               base::Count more = 0);

// An image's or a patch's size: one number for a square, or two. Finds lists of anything else (O0903).
struct Rectangle {
  base::Count height = 1, width = 1;
};
Rectangle sides(ConfigKeys& keys, std::string_view key, base::Count absent);

// 0: all tokens, as before.
void reach_window(workload::Attention& attention, base::Count span);

// Whether attention sees a window at all: `sliding_window`, unless `use_sliding_window` denies it. 0: none.
base::Count window(Reading& r, base::Count absent, bool switched, bool used_if_absent = false);

}  // namespace orrery::formats::huggingface
