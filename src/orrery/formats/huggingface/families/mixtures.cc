// Decoders with mixtures of experts: which layers have one, how many experts there are, and what every token visits
// besides.
#include "orrery/formats/huggingface/families/families.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/formats/huggingface/families/experts.h"

namespace orrery::formats::huggingface {

using base::Count;
using workload::Attention;
using workload::Block;
using workload::Experts;
using workload::FeedForward;
using workload::QkNorm;
using workload::Stack;

Experts experts(Reading& r, std::string_view count, std::string_view top_k, Count absent_count, Count absent_top_k,
                const FeedForward& expert) {
  Experts e;
  e.count = absent_count > 0 ? r.keys.size(count, absent_count) : sized(r, count);
  e.top_k = absent_top_k > 0 ? r.keys.size(top_k, absent_top_k) : sized(r, top_k);
  e.expert = expert;
  r.model.places["experts"] = r.keys.where(count);
  if (e.count > 0 && e.top_k > e.count)
    r.keys.found()
        .error("O0907", fmt::format("a token visits {} of {} experts", e.top_k, e.count), r.keys.where(top_k))
        .hint(fmt::format("`{}` is at most the number of experts", top_k));
  return e;
}

void limit_groups(Reading& r, Experts& e, Count absent_groups, Count absent_visited, std::string_view groups_key) {
  const Count groups = r.keys.size(groups_key, absent_groups);
  const Count visited = r.keys.size("topk_group", absent_visited);
  if (e.count > 0 && r.keys.given(groups_key)) {
    base::Diagnostics& found = r.keys.found();
    if (groups > 0 && e.count % groups != 0)
      found.error("O0907", "the groups do not divide the experts", r.keys.where(groups_key))
          .label(fmt::format("{} groups", groups))
          .note(fmt::format("{} / {} leaves {}: each group has the same number of experts", e.count, groups,
                            e.count % groups));
    else if (groups > 0 && visited > groups)
      found.error("O0907", fmt::format("a token visits {} of {} groups", visited, groups), r.keys.where("topk_group"))
          .hint(fmt::format("`topk_group` is at most `{}`", groups_key));
    else if (groups > 0 && visited > 0 && e.top_k > visited * (e.count / groups))
      found
          .error("O0907",
                 fmt::format("a token visits {} experts, but its {} groups have {}", e.top_k, visited,
                             visited * (e.count / groups)),
                 r.keys.where("topk_group"))
          .note(fmt::format("{} of {} groups, of {} / {} = {} experts each", visited, groups, e.count, groups,
                            e.count / groups));
  }
  // Where a token may visit every group, nothing limits it.
  e.max_groups = groups > 0 && visited >= groups ? 0 : visited;
}

void finish_mixture(Reading& r, Count hidden, Count layers, const Block& dense, const Block& mixture, bool tied,
                    const std::function<bool(Count)>& is_mixture, bool head_bias) {
  finish_kinds(
      r, hidden, layers, {dense, mixture}, [&](Count layer) { return is_mixture(layer) ? 1 : 0; }, tied, head_bias);
}

void finish_kinds(Reading& r, Count hidden, Count layers, const std::vector<Block>& kinds,
                  const std::function<int(Count)>& kind_of, bool tied, bool head_bias) {
  Stack stack = decoder(hidden, kinds.front().norm);
  add_layers(stack, layers, kinds, kind_of);
  positions(r, stack, "max_position_embeddings", false);
  vocabulary(r, hidden);
  logits(r, tied, head_bias);
  r.model.stacks.push_back(std::move(stack));
}

Count predicted_ahead(Reading& r) {
  r.model.ahead.known = true;
  for (const std::string_view key :
       {"num_nextn_predict_layers", "num_mtp_layers", "mtp_num_layers", "mtp_num_hidden_layers"})
    if (!r.ignores(key) && r.keys.given(key)) return r.keys.count(key);
  return 0;
}

std::function<bool(Count)> sparse_steps(Reading& r, Count layers) {
  const auto dense = among(layer_list(r.keys, "mlp_only_layers", layers));
  const Count step = r.keys.size("decoder_sparse_step", 1);
  return [=](Count layer) { return (layer + 1) % step == 0 && !dense(layer); };
}

std::function<bool(Count)> after_first(Reading& r, Count layers, Count absent, std::string_view key) {
  const Count dense = r.keys.count(key, absent);
  if (layers > 0 && dense > layers && r.keys.given(key))
    r.keys.found()
        .error("O0922", fmt::format("`{}` is {}, but `num_hidden_layers` is {}", key, dense, layers), r.keys.where(key))
        .also(r.keys.where("num_hidden_layers"), fmt::format("{} layers", layers))
        .hint("it counts the first layers, which have no mixture of experts: at most all of them");
  const Count every = r.keys.size("moe_layer_freq", 1);
  return [=](Count layer) { return layer >= dense && (layer - dense) % every == 0; };
}

namespace {

Block block_of(const Attention& a) {
  Block block;
  block.mixer = a;
  block.norm = rms_norm();
  return block;
}

}  // namespace

void read_qwen2_moe(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  AttentionKeys named;
  named.absent_kv_heads = 16;
  Attention a = attention(r, hidden, named);
  bias_queries_keys_values(a, r.keys.flag("qkv_bias", true));
  const Count span = window(r, 4096, true);
  const Count windowed = r.keys.count("max_window_layers", 28);
  const std::vector<std::string> types =
      layer_types(r, "num_hidden_layers", layers,
                  [=](Count layer) {
                    return span > 0 && layer % 2 == 0 && layer < windowed ? "sliding_attention" : "full_attention";
                  },
                  {"full_attention", "sliding_attention"});
  const FeedForward dense = {r.keys.size("intermediate_size", 5632), true, false};
  Experts e = experts(r, r.keys.spelled({"num_experts", "num_local_experts"}), "num_experts_per_tok", 60, 4,
                      {r.keys.size("moe_intermediate_size", 1408), true, false});
  e.shared = 1;
  e.shared_expert = {r.keys.size("shared_expert_intermediate_size", 5632), true, false};
  e.shared_gate = true;
  const auto is_mixture = sparse_steps(r, layers);
  std::vector<Block> kinds(4, block_of(a));
  reach_window(a, span);
  kinds[2].mixer = kinds[3].mixer = a;
  kinds[0].feed_forward = kinds[2].feed_forward = dense;
  kinds[1].feed_forward = kinds[3].feed_forward = e;
  Stack stack = decoder(hidden, rms_norm());
  add_layers(stack, layers, kinds, [&](Count layer) {
    const bool near = span > 0 && types[static_cast<std::size_t>(layer)] == "sliding_attention";
    return (near ? 2 : 0) + (is_mixture(layer) ? 1 : 0);
  });
  positions(r, stack, "max_position_embeddings", false);
  vocabulary(r, hidden);
  logits(r, false);
  r.model.stacks.push_back(std::move(stack));
}

// Sinks, biases everywhere, gates within a limit, and a window in every other layer.
void read_gpt_oss(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  AttentionKeys named;
  named.absent_kv_heads = 8;
  named.absent_width = 64;
  Attention a = attention(r, hidden, named);
  bias_all(a, r.keys.flag("attention_bias", true));
  a.sinks = true;
  const Count span = window(r, 128, false);
  const std::vector<std::string> types =
      layer_types(r, "num_hidden_layers", layers,
                  [](Count layer) { return layer % 2 == 0 ? "sliding_attention" : "full_attention"; },
                  {"full_attention", "sliding_attention"});
  Experts e = experts(r, r.keys.spelled({"num_local_experts", "num_experts"}),
                      r.keys.spelled({"num_experts_per_tok", "experts_per_token"}), 128, 4,
                      {sized(r, "intermediate_size"), true, true});
  e.expert.clamped = r.keys.number("swiglu_limit", 7) > 0;
  e.weighted_bias = true;
  e.router_bias = true;
  Block block = block_of(a);
  block.feed_forward = e;
  Stack stack = decoder(hidden, rms_norm());
  add_layers(stack, types, block, span);
  positions(r, stack, "max_position_embeddings", false);
  vocabulary(r, hidden);
  logits(r, false);
  r.model.stacks.push_back(std::move(stack));
}

// Three layers of four see their own chunk of tokens; some layers have a mixture with a shared expert.
void read_llama4(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  AttentionKeys named;
  named.absent_kv_heads = 8;
  named.absent_width = 128;
  Attention a = attention(r, hidden, named);
  bias_all(a, r.keys.flag("attention_bias", false));
  r.keys.know({"use_qk_norm"});  // without parameters
  const bool unchunked = r.ignores("attention_chunk_size");
  const Count chunk = unchunked ? 0 : r.keys.size("attention_chunk_size", 8192, 0);
  if (!unchunked) r.model.places["window"] = r.keys.where("attention_chunk_size");
  const Count interval = r.keys.size("no_rope_layer_interval", 4);
  const std::vector<Count> turned = r.keys.counts("no_rope_layers");
  const std::vector<std::string> types =
      layer_types(r, "num_hidden_layers", layers,
                  [&](Count layer) {
                    const auto i = static_cast<std::size_t>(layer);
                    const bool rotary = i < turned.size() ? turned[i] != 0 : (layer + 1) % interval != 0;
                    return rotary ? "chunked_attention" : "full_attention";
                  },
                  {"full_attention", "chunked_attention"});
  const FeedForward expert = {sized(r, "intermediate_size"), true, false};
  const FeedForward dense = {r.keys.size("intermediate_size_mlp", 16384), true, false};
  Experts e = experts(r, r.keys.spelled({"num_local_experts", "num_experts"}), "num_experts_per_tok", 16, 1, expert);
  e.shared = 1;
  e.shared_expert = expert;
  const Count step = r.keys.size("interleave_moe_layer_step", 1);
  const auto stated = among(layer_list(r.keys, "moe_layers", layers));
  const bool states = r.keys.given("moe_layers");
  std::vector<Block> kinds(4, block_of(a));
  a.reach = workload::Reach::kChunk;
  a.span = chunk;
  if (chunk > 0) kinds[2].mixer = kinds[3].mixer = a;
  kinds[0].feed_forward = kinds[2].feed_forward = dense;
  kinds[1].feed_forward = kinds[3].feed_forward = e;
  Stack stack = decoder(hidden, rms_norm());
  add_layers(stack, layers, kinds, [&](Count layer) {
    const bool mixture = states ? stated(layer) : (layer + 1) % step == 0;
    return (types[static_cast<std::size_t>(layer)] == "chunked_attention" ? 2 : 0) + (mixture ? 1 : 0);
  });
  positions(r, stack, "max_position_embeddings", false);
  vocabulary(r, hidden);
  logits(r, false);
  r.model.stacks.push_back(std::move(stack));
}

namespace {

struct Latents {
  Count q_rank, experts, top_k, shared, width, dense, groups, visited_groups;
  Count index_heads = 0;  // 0: no index
  Count index_every = 1;  // the second one, and every so many-th, have one of their own
  bool streams = false;   // residual streams that are mixed; a gate and sinks of attention
};

// Whether each layer has an index of its own: `indexer_types`, else a pattern of F and S, else every so many layers.
std::vector<char> own_indexes(Reading& r, Count layers, Count absent_every) {
  std::vector<std::string> types = r.keys.texts("indexer_types");
  std::string_view key = "indexer_types";
  if (const json::Node* pattern = r.keys.value("index_topk_pattern"); types.empty() && pattern != nullptr) {
    key = "index_topk_pattern";
    if (pattern->is_text())
      for (const char letter : pattern->text)
        types.emplace_back(letter == 'F' ? "full" : letter == 'S' ? "shared" : std::string(1, letter));
    else
      types = r.keys.texts(key);
  }
  const Count every = std::max<Count>(1, r.keys.count("index_topk_freq", absent_every));
  const Count offset = r.keys.count("index_skip_topk_offset", 2);
  std::vector<char> own(static_cast<std::size_t>(layers), 1);
  if (types.empty())
    for (Count i = 0; i < layers; ++i)
      own[static_cast<std::size_t>(i)] = std::max<Count>(i - offset + 1, 0) % every == 0 ? 1 : 0;
  else if (types.size() != own.size() && layers > 0)
    r.keys.found()
        .error("O0922", fmt::format("the length of `{}` is {}, but there are {} layers", key, types.size(), layers),
               r.keys.where(key))
        .hint("it has one item for each layer");
  for (std::size_t i = 0; i < std::min(own.size(), types.size()); ++i) {
    own[i] = types[i] == "full" ? 1 : 0;
    if (types[i] == "full" || (types[i] == "shared" && i > 0)) continue;
    r.keys.found()
        .error("O0903", fmt::format("layer {} has an index of type `{}`", i, types[i].substr(0, 40)), r.keys.where(key))
        .hint("an index is `full`, or `shared` with a layer before");
    break;
  }
  return own;
}

// Lightning index: its key has a norm with a bias.
void add_index(Reading& r, Attention& a, Count absent_heads) {
  workload::Index index{r.keys.size("index_n_heads", absent_heads), r.keys.size("index_head_dim", 128),
                        r.keys.size("index_topk", 2048)};
  a.small_parameters += 2 * index.width;
  a.index = index;
}

void read_latent_mixture(Reading& r, const Latents& absent) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  Attention a = attention(r, hidden, {"num_attention_heads", "", "", 0, 1});
  r.keys.know({"num_key_value_heads", "head_dim"});  // the latents are expanded for every head
  make_latent(r, a, absent.q_rank);
  bias_all(a, r.keys.flag("attention_bias", false));
  const bool bias = r.keys.flag("mlp_bias", false);
  const FeedForward dense = {sized(r, "intermediate_size"), true, bias};
  const Count width = r.keys.size("moe_intermediate_size", absent.width);
  Experts e = experts(r, r.keys.spelled({"n_routed_experts", "num_local_experts", "num_experts"}),
                      "num_experts_per_tok", absent.experts, absent.top_k, {width, true, false});
  e.shared = r.keys.count("n_shared_experts", absent.shared);
  e.shared_expert = {e.shared * width, true, bias};
  limit_groups(r, e, absent.groups, absent.visited_groups);
  const bool indexed = absent.index_heads > 0;
  if (indexed) add_index(r, a, absent.index_heads);
  if (indexed) pass_layer_types(r, {"deepseek_sparse_attention", "indexed_attention"});
  const std::vector<char> own = indexed ? own_indexes(r, layers, absent.index_every) : std::vector<char>();
  a.sinks = absent.streams;
  std::vector<Block> kinds(4, block_of(a));
  if (indexed) {
    a.index->own = false;
    a.small_parameters = 0;
    kinds[2].mixer = kinds[3].mixer = a;
  }
  kinds[0].feed_forward = kinds[2].feed_forward = dense;
  kinds[1].feed_forward = kinds[3].feed_forward = e;
  const Block with_own_index = kinds[1];
  const Count streams = absent.streams ? r.keys.size("hc_mult", 4) : 0, all = base::checked_multiply(streams, hidden);
  if (streams > 0)
    for (Block& kind : kinds) {
      kind.extra.assign(2, {"layer-streams", all, 2 * streams, 2 * streams});
      kind.extra.push_back({"layer-gate", hidden, a.output()});
      kind.extra_parameters = 4;  // scales
    }
  const auto is_mixture = mixture_layers(r, layers, after_first(r, layers, absent.dense));
  finish_kinds(
      r, hidden, layers, kinds,
      [&](Count layer) {
        return (indexed && own[static_cast<std::size_t>(layer)] == 0 ? 2 : 0) + (is_mixture(layer) ? 1 : 0);
      },
      false);
  if (streams > 0) {
    r.model.stacks.back().out_of.push_back({"streams", all, streams, streams});
    r.model.stacks.back().other_parameters = 1;  // a scale
  }
  r.model.predicted_ahead = predicted_ahead(r);
  r.model.ahead.known = streams == 0;  // how hy_v4's streams go there is not published
  r.model.ahead.copies = true;
  if (indexed) r.model.ahead.layers = {with_own_index};
}

}  // namespace

void read_deepseek_v2(Reading& r) {
  read_latent_mixture(r, {1536, 64, 0, 2, 1407, 0, 0, 0});
}

void read_deepseek_v3(Reading& r) {
  read_latent_mixture(r, {1536, 256, 8, 1, 2048, 3, 8, 4});
}

void read_deepseek_v32(Reading& r) {
  read_latent_mixture(r, {1536, 256, 8, 1, 2048, 3, 8, 4, 64});
}

void read_hy_v4(Reading& r) {
  r.keys.know({"hc_magnitude", "hc_eps", "learnable_sink_init"});
  read_latent_mixture(r, {1536, 256, 8, 1, 768, 1, 1, 1, 16, 4, true});
}

void read_glm_moe_dsa(Reading& r) {
  read_latent_mixture(r, {2048, 256, 8, 1, 2048, 3, 1, 1, 32});
}

void read_glm4_moe_lite(Reading& r) {
  read_latent_mixture(r, {768, 64, 4, 1, 1536, 1, 1, 1});
}

void read_glm4_moe(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  AttentionKeys named;
  named.absent_kv_heads = 8;
  named.absent_width = std::max<Count>(1, hidden / std::max<Count>(1, r.keys.size("num_attention_heads", 96)));
  Attention a = attention(r, hidden, named);
  bias_queries_keys_values(a, r.keys.flag("attention_bias", false));
  if (r.keys.flag("use_qk_norm", false)) a.qk_norm = QkNorm::kHead;
  const FeedForward dense = {r.keys.size("intermediate_size", 10944), true, false};
  const Count width = r.keys.size("moe_intermediate_size", 1408);
  Experts e = experts(r, r.keys.spelled({"n_routed_experts", "num_local_experts"}), "num_experts_per_tok", 128, 8,
                      {width, true, false});
  e.shared = r.keys.count("n_shared_experts", 1);
  e.shared_expert = {e.shared * width, true, false};
  limit_groups(r, e, 1, 1);
  Block plain = block_of(a), mixture = plain;
  plain.feed_forward = dense;
  mixture.feed_forward = e;
  finish_mixture(r, hidden, layers, plain, mixture, false, after_first(r, layers, 1));
  r.model.predicted_ahead = predicted_ahead(r);
  r.model.ahead.copies = true;
}

void read_ernie4_5_moe(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  AttentionKeys named;
  named.absent_kv_heads = 4;
  Attention a = attention(r, hidden, named);
  const bool bias = r.keys.flag("use_bias", false);
  bias_all(a, bias);
  const FeedForward dense = {r.keys.size("intermediate_size", 12288), true, bias};
  const Count width = r.keys.size("moe_intermediate_size", 1536);
  Experts e = experts(r, r.keys.spelled({"moe_num_experts", "num_experts"}),
                      r.keys.spelled({"moe_k", "num_experts_per_tok"}), 64, 6, {width, true, false});
  e.shared = r.keys.count("moe_num_shared_experts", 2);
  e.shared_expert = {e.shared * width, true, bias};
  e.router_bias = true;  // a correction of scores
  const Count first = r.keys.count("moe_layer_start_index", 1);
  const json::Node* end = r.keys.value("moe_layer_end_index");
  const bool to_the_last = end == nullptr || (end->is_number() && end->number == -1);
  const Count last = to_the_last ? layers - 1 : r.keys.count("moe_layer_end_index");
  if (layers > 0 && first >= layers)
    r.keys.found()
        .error("O0922", fmt::format("`moe_layer_start_index` is {}, but there are {} layers", first, layers),
               r.keys.where("moe_layer_start_index"))
        .hint("layers count from 0");
  const Count interval = r.keys.size("moe_layer_interval", 1);
  Block plain = block_of(a), mixture = plain;
  plain.feed_forward = dense;
  mixture.feed_forward = e;
  finish_mixture(
      r, hidden, layers, plain, mixture, true,
      [=](Count layer) { return (layer + 1) % interval == 0 && layer >= first && layer <= last; }, bias);
  r.model.predicted_ahead = predicted_ahead(r);
  r.model.ahead.layers = {plain};
  r.model.ahead.norms = 2;
}

}  // namespace orrery::formats::huggingface
