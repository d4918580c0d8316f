// Cost: linear in layers and keys.
#include "orrery/formats/huggingface/families/config_reading.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/huggingface/keys.h"

namespace orrery::formats::huggingface {

using base::Count;
using workload::Attention;
using workload::Block;
using workload::Norm;
using workload::NormKind;
using workload::Reach;
using workload::Stack;

bool Reading::ignores(std::string_view key) const {
  return ignored != nullptr && std::find(ignored->begin(), ignored->end(), key) != ignored->end();
}

Norm layer_norm(bool bias) {
  return {NormKind::kLayer, true, bias};
}

Norm rms_norm() {
  return {NormKind::kRms, true, false};
}

Count sized(Reading& r, std::string_view key) {
  const Count size = r.keys.required(key);
  r.model.places[std::string(key)] = r.keys.where(key);
  return size;
}

Count layers_of(Reading& r, std::string_view key, Count absent) {
  return r.keys.given(key) ? layers_of(r, key) : absent;
}

Count layers_of(Reading& r, std::string_view key) {
  const Count layers = sized(r, key);
  if (layers <= kMostLayers) return layers;
  r.keys.found()
      .error("O0910", fmt::format("`{}` is {}, which is larger than any model's", key, layers), r.keys.where(key))
      .label(fmt::format("at most {}", kMostLayers));
  return 0;
}

Attention attention_of(Reading& r, Count hidden, Count heads, Count kv_heads, Count width, const AttentionKeys& named) {
  Attention a;
  a.heads = heads;
  a.kv_heads = kv_heads > 0 ? kv_heads : heads;
  if (heads > 0 && a.heads % a.kv_heads != 0) {
    const bool absent = named.kv_heads.empty() || !r.keys.has(named.kv_heads);
    base::Diagnostic& error = r.keys.found().error("O0912", "the key/value heads do not divide the query heads",
                                                   r.keys.where(absent ? named.heads : named.kv_heads));
    error.label(absent ? fmt::format("{} query heads", a.heads) : fmt::format("{} key/value heads", a.kv_heads));
    if (absent)
      error.note(fmt::format("`{}` is missing, and the family's class has {} then", named.kv_heads, a.kv_heads));
    else
      error.also(r.keys.where(named.heads), fmt::format("{} query heads", a.heads));
    error.note(fmt::format("{} / {} leaves {}: each key/value head serves the same number of query heads", a.heads,
                           a.kv_heads, a.heads % a.kv_heads));
  }
  a.width = width;
  if (width == 0 && heads > 0 && hidden > 0) {
    a.width = hidden / heads;
    if (hidden % heads != 0) {
      base::Diagnostic& error =
          r.keys.found().error("O0911", "the heads do not divide the model's width", r.keys.where(named.heads));
      error.label(fmt::format("{} heads", heads)).note(fmt::format("{} / {} leaves {}", hidden, heads, hidden % heads));
      for (const char* key : {"hidden_size", "n_embd", "d_model", "dim", "n_embed"})
        if (r.keys.read().contains(key) && r.keys.has(key))
          error.also(r.keys.where(key), fmt::format("width {}", hidden));
      if (!named.width.empty())
        error.hint(fmt::format("give the width of a head (`{}`) where it is not the model's width divided by the heads",
                               named.width));
    }
  }
  a.value_width = a.width;
  return a;
}

Attention attention(Reading& r, Count hidden, const AttentionKeys& named) {
  const Count heads = sized(r, named.heads);
  const Count kv = named.kv_heads.empty() ? 0 : r.keys.size(named.kv_heads, named.absent_kv_heads, 0);
  const Count width = named.width.empty() ? named.absent_width : r.keys.size(named.width, named.absent_width, 0);
  return attention_of(r, hidden, heads, kv, width, named);
}

void bias_queries_keys_values(Attention& attention, bool bias) {
  attention.query_bias = attention.key_bias = attention.value_bias = bias;
}

void bias_all(Attention& attention, bool bias) {
  bias_queries_keys_values(attention, bias);
  attention.output_bias = bias;
}

void gate_without_bias(Attention& attention) {
  attention.gated = true;
  if (attention.query_bias)
    attention.small_parameters = base::checked_add(attention.small_parameters, attention.query());
  attention.query_bias = false;
}

void make_latent(Reading& r, Attention& attention, Count absent_q_rank) {
  workload::Latent latent;
  latent.q_rank = r.keys.size("q_lora_rank", absent_q_rank, 0);
  latent.kv_rank = sized(r, "kv_lora_rank");
  latent.rope_width = sized(r, "qk_rope_head_dim");
  latent.nope_width = sized(r, "qk_nope_head_dim");
  const bool plain = attention.value_width == attention.width;  // nobody said what a missing `v_head_dim` means
  attention.width = latent.rope_width + latent.nope_width;
  if (plain) attention.value_width = sized(r, "v_head_dim");
  attention.kv_heads = attention.heads;  // once the latents are expanded
  attention.latent = latent;
  r.keys.know({"qk_head_dim"});
}

std::vector<std::string> layer_types(Reading& r, std::string_view layers_key, Count layers, const LayerRule& absent,
                                     const std::vector<std::string>& known) {
  std::vector<std::string> types = r.keys.texts("layer_types");
  if (!r.keys.given("layer_types")) {
    types.reserve(static_cast<std::size_t>(layers));
    for (Count layer = 0; layer < layers; ++layer) types.push_back(absent(layer));
    return types;
  }
  base::Diagnostics& found = r.keys.found();
  const std::size_t stated = r.keys.value("layer_types")->items.size();
  if (stated != types.size() || r.keys.value("layer_types")->kind != json::Node::Kind::kList)
    types.clear();  // what it holds is no text, which was said
  else if (layers > 0 && types.size() != static_cast<std::size_t>(layers))
    found
        .error("O0922",
               fmt::format("the length of `layer_types` is {}, but `{}` is {}", types.size(), layers_key, layers),
               r.keys.where("layer_types"))
        .also(r.keys.where(layers_key), fmt::format("{} layers", layers))
        .hint("it has one item for each layer");
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::string& type = types[i];
    if (std::find(known.begin(), known.end(), type) != known.end()) continue;
    found
        .error("O0903", fmt::format("layers of type `{}` are not understood", type.substr(0, 60)),
               r.keys.value("layer_types")->items[i].where)
        .note(fmt::format("this family has: {}", base::joined(known, ", ")))
        .hint(base::did_you_mean(type, known));
    break;
  }
  types.resize(static_cast<std::size_t>(layers), known.front());
  return types;
}

void pass_layer_types(Reading& r, const std::vector<std::string>& said) {
  const std::vector<std::string> types = r.keys.texts("layer_types");
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (std::find(said.begin(), said.end(), types[i]) != said.end()) continue;
    r.keys.found()
        .warning("O0927",
                 fmt::format("layer {} is `{}`, but the family's class does not read `layer_types`", i,
                             types[i].substr(0, 40)),
                 r.keys.value("layer_types")->items[i].where)
        .note(fmt::format("its layers are all {}", said.front()));
    return;
  }
}

void name_unread(Reading& r, const ConfigKeys& own, std::string_view key) {
  for (const json::Member& member : own.object().members)
    if (!own.read().contains(member.key) && why_harmless(member.key).empty())
      r.keys.found()
          .warning("O0916", fmt::format("nothing is known about `{}` in `{}`", member.key.substr(0, 60), key),
                   member.key_where)
          .note("it is left out of account");
}

std::function<bool(Count)> mixture_layers(Reading& r, Count layers, const std::function<bool(Count)>& absent) {
  const std::vector<std::string> types = r.keys.texts("mlp_layer_types");
  if (!r.keys.given("mlp_layer_types")) return absent;
  if (layers > 0 && types.size() != static_cast<std::size_t>(layers))
    r.keys.found()
        .error("O0922",
               fmt::format("the length of `mlp_layer_types` is {}, but there are {} layers", types.size(), layers),
               r.keys.where("mlp_layer_types"))
        .hint("it has one item for each layer");
  std::vector<char> sparse(static_cast<std::size_t>(layers), 0);
  for (std::size_t i = 0; i < std::min(sparse.size(), types.size()); ++i) {
    sparse[i] = types[i] == "sparse" ? 1 : 0;
    if (types[i] == "sparse" || types[i] == "dense") continue;
    r.keys.found()
        .error("O0903", fmt::format("networks of type `{}` are not understood", types[i].substr(0, 60)),
               r.keys.where("mlp_layer_types"))
        .hint("a layer's network is `dense` or `sparse`");
    break;
  }
  return [sparse = std::move(sparse)](Count layer) { return sparse[static_cast<std::size_t>(layer)] != 0; };
}

std::vector<Count> layer_list(ConfigKeys& keys, std::string_view key, Count layers, Count first) {
  std::vector<Count> list = keys.counts(key);
  if (layers < 1) return list;
  const auto odd = std::find_if(list.begin(), list.end(), [&](Count at) { return at < first || at >= layers + first; });
  if (odd != list.end())
    keys.found()
        .error("O0922", fmt::format("`{}` names layer {}, but there are {}", key, *odd, layers), keys.where(key))
        .hint(fmt::format("layers count from {} to {}", first, layers + first - 1));
  return list;
}

std::function<bool(Count)> marked_layers(ConfigKeys& keys, std::string_view key, Count layers,
                                         const std::function<bool(Count)>& absent) {
  const json::Node* node = keys.value(key);
  if (node == nullptr) return absent;
  std::vector<Count> marks;
  const bool truths = node->kind == json::Node::Kind::kList && !node->items.empty() &&
                      std::all_of(node->items.begin(), node->items.end(),
                                  [](const json::Node& item) { return item.kind == json::Node::Kind::kTruth; });
  if (truths)
    for (const json::Node& item : node->items) marks.push_back(item.truth ? 1 : 0);
  else
    marks = keys.counts(key);
  if (layers > 0 && node->kind == json::Node::Kind::kList && marks.size() < static_cast<std::size_t>(layers))
    keys.found()
        .error("O0922", fmt::format("the length of `{}` is {}, but there are {} layers", key, marks.size(), layers),
               keys.where(key))
        .hint("it has one item for each layer");
  marks.resize(static_cast<std::size_t>(std::max<Count>(layers, 0)), 0);
  return [marks = std::move(marks)](Count layer) { return marks[static_cast<std::size_t>(layer)] != 0; };
}

Count alike(ConfigKeys& keys, std::string_view key, Count absent) {
  const json::Node* node = keys.value(key);
  if (node == nullptr || node->kind != json::Node::Kind::kList) return keys.size(key, absent);
  const std::vector<Count> each = keys.counts(key);
  const bool same = !each.empty() && each.front() >= 1 && each.front() <= kLargestSize &&
                    std::all_of(each.begin(), each.end(), [&](Count one) { return one == each.front(); });
  if (same) return each.front();
  keys.found()
      .error("O0903", fmt::format("`{}` differs among layers, which is not understood", key), keys.where(key))
      .hint("one number, or a list of the same one for every layer");
  return absent;
}

std::function<bool(Count)> among(std::vector<Count> layers) {
  std::sort(layers.begin(), layers.end());
  return [sorted = std::move(layers)](Count layer) { return std::binary_search(sorted.begin(), sorted.end(), layer); };
}

void add_layers(Stack& stack, const std::vector<std::string>& types, const Block& block, Count window) {
  Block windowed = block;
  if (auto* attention = std::get_if<Attention>(&windowed.mixer); attention != nullptr && window > 0) {
    attention->reach = Reach::kWindow;
    attention->span = window;
  }
  add_layers(stack, static_cast<Count>(types.size()), {block, windowed}, [&](Count layer) {
    return window > 0 && types[static_cast<std::size_t>(layer)] == "sliding_attention" ? 1 : 0;
  });
}

void add_layers(Stack& stack, Count layers, std::vector<Block> kinds, const std::function<int(Count)>& kind_of) {
  std::vector<int> place(kinds.size(), -1);
  for (Count layer = 0; layer < layers; ++layer) {
    const auto kind = static_cast<std::size_t>(kind_of(layer));
    if (place[kind] < 0) {
      place[kind] = static_cast<int>(stack.kinds.size());
      stack.kinds.push_back(kinds[kind]);
    }
    stack.layers.push_back(place[kind]);
  }
}

void add_layers(Stack& stack, Count layers, const Block& block) {
  add_layers(stack, layers, {block}, [](Count) { return 0; });
}

Stack decoder(Count width, Norm exit) {
  Stack stack;
  stack.name = "decoder";
  stack.width = width;
  stack.exit = exit;
  return stack;
}

Stack encoder(Count width, Norm exit) {
  Stack stack = decoder(width, exit);
  stack.name = "encoder";
  stack.causal = false;
  return stack;
}

void vocabulary(Reading& r, Count width, std::string_view key) {
  r.model.vocab = sized(r, key);
  r.model.embedding_width = width;
}

namespace {

// A composite says it in either place, or in both; which counts is the class's choice.
bool tied(Reading& r, bool absent) {
  const bool inner = r.keys.flag("tie_word_embeddings", absent);
  const json::Member* outer = r.outer != nullptr ? r.outer->find("tie_word_embeddings") : nullptr;
  const bool said = outer != nullptr && outer->value.kind == json::Node::Kind::kTruth;
  if ((r.outer_type == "gemma3" || r.outer_type == "mistral3") && r.outer != nullptr) {
    if (said) return outer->value.truth;
    return !r.keys.has("tie_word_embeddings") || inner;
  }
  if (r.outer_type == "muse_glimmer") return said && outer->value.truth;
  if (r.outer_type == "llava" || r.outer_type == "qwen2_5_vl") return inner || (said && outer->value.truth);
  return said ? outer->value.truth : inner;  // the class of the whole ties what it finds
}

}  // namespace

void logits(Reading& r, bool tied_if_absent, bool bias) {
  r.model.head.tied = tied(r, tied_if_absent);
  r.model.head.outputs = r.model.vocab;
  r.model.head.bias = bias;
}

void positions(Reading& r, Stack& stack, std::string_view key, bool learned, Count absent, Count more) {
  r.model.max_positions = r.keys.optional_size(key);
  if (const Count lent = r.keys.lent(key); !r.model.max_positions && lent > 0) r.model.max_positions = lent;
  if (!r.model.max_positions && absent > 0) r.model.max_positions = absent;
  r.model.places["max_positions"] = r.keys.where(key);
  stack.learned_positions = learned;
  if (learned) stack.position_rows = r.model.max_positions.value_or(0) + more;
}

Rectangle sides(ConfigKeys& keys, std::string_view key, Count absent) {
  const json::Node* node = keys.value(key);
  if (node == nullptr || node->kind != json::Node::Kind::kList) {
    const Count side = keys.size(key, absent);
    return {side, side};
  }
  const std::vector<Count> both = keys.counts(key);
  const auto fits = [](Count side) { return side >= 1 && side <= kLargestSize; };
  if (both.size() == 2 && fits(both[0]) && fits(both[1])) return {both[0], both[1]};
  keys.found().error("O0903", fmt::format("`{}` must be one positive number, or two", key), keys.where(key));
  return {absent, absent};
}

void reach_window(Attention& attention, Count span) {
  if (span == 0) return;
  attention.reach = Reach::kWindow;
  attention.span = span;
}

Count window(Reading& r, Count absent, bool switched, bool used_if_absent) {
  if (r.ignores("sliding_window")) return 0;
  const Count size = r.keys.has("sliding_window") ? r.keys.count("sliding_window") : absent;
  r.keys.know({"sliding_window"});
  if (switched && !r.keys.flag("use_sliding_window", used_if_absent)) return 0;
  r.model.places["window"] = r.keys.where("sliding_window");
  return size;
}

}  // namespace orrery::formats::huggingface
