// DeepSeek-V4: one key for all heads, which is the value too; entries of the cache that many tokens share, all of them
// seen or those that an index picks; an output projection in groups; several residual streams; mixtures in all layers,
// the first of which route a token by a table.
#include <fmt/format.h>

#include <algorithm>

#include "orrery/formats/huggingface/families/experts.h"
#include "orrery/formats/huggingface/families/families.h"

namespace orrery::formats::huggingface {
namespace {

using base::Count;
using workload::Attention;
using workload::Block;
using workload::Experts;

constexpr std::string_view kSparsely = "compressed_sparse_attention", kHeavily = "heavily_compressed_attention";

struct Compressed {
  Count hidden = 0, q_rank = 0, groups = 0, output_rank = 0, index_heads = 0, index_width = 0, top_k = 0;
};

// `ratio`: 1 has a window alone; those with an index have keys of both halves of what they join.
Attention compressed(Attention a, const Compressed& s, Count ratio, bool indexed) {
  a.matrices = {{"Q-down", s.hidden, s.q_rank}, {"Q-up", s.q_rank, a.query()}, {"KV", s.hidden, a.width}};
  a.small_parameters = s.q_rank + a.width;  // norms
  if (ratio > 1) {
    const Count wide = (indexed ? 2 : 1) * a.width;
    a.matrices.push_back({"KV-joined", s.hidden, 2 * wide});  // entries, and the weights that join them
    a.small_parameters += ratio * wide + a.width;
    a.compressed = ratio;
  }
  if (indexed) {
    a.index = workload::Index{s.index_heads, s.index_width, s.top_k};
    a.matrices.push_back({"index-K", s.hidden, 4 * s.index_width});
    a.matrices.push_back({"index-Q", s.q_rank, s.index_heads * s.index_width});
    a.matrices.push_back({"index-weights", s.hidden, s.index_heads});
    a.small_parameters += 2 * ratio * s.index_width + s.index_width;
  }
  a.matrices.push_back({"Out-down", a.output() / std::max<Count>(1, s.groups), s.groups * s.output_rank});
  a.matrices.push_back({"Out", s.groups * s.output_rank, s.hidden});
  return a;
}

// By `layer_types`, else by the ratios of older files, else by the class's rule.
std::vector<std::string> attention_types(Reading& r, Count layers) {
  const auto rule = [&](Count layer) { return std::string(layer > 1 && (layer - 2) % 2 == 1 ? kSparsely : kHeavily); };
  const std::vector<Count> ratios = r.keys.counts("compress_ratios");
  if (r.keys.given("compress_ratios") && !r.keys.given("layer_types") && layers > 0) {
    const auto odd =
        std::find_if(ratios.begin(), ratios.end(), [](Count one) { return one != 0 && one != 4 && one != 128; });
    if (odd != ratios.end())
      r.keys.found()
          .error("O0903", fmt::format("a layer joins {} tokens, which is not understood", *odd),
                 r.keys.where("compress_ratios"))
          .hint("a ratio is 0, 4 or 128");
    if (ratios.size() < static_cast<std::size_t>(layers))
      r.keys.found()
          .error("O0922",
                 fmt::format("the length of `compress_ratios` is {}, but there are {} layers", ratios.size(), layers),
                 r.keys.where("compress_ratios"))
          .hint("it has one item for each layer");
    std::vector<std::string> types(static_cast<std::size_t>(layers), "sliding_attention");
    for (std::size_t i = 0; i < std::min(types.size(), ratios.size()); ++i)
      if (ratios[i] > 0) types[i] = ratios[i] == 4 ? kSparsely : kHeavily;
    return types;
  }
  return layer_types(r, "num_hidden_layers", layers, rule,
                     {"sliding_attention", std::string(kSparsely), std::string(kHeavily)});
}

}  // namespace

void read_deepseek_v4(Reading& r) {
  const Count hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  AttentionKeys named;
  named.absent_kv_heads = 1;
  named.absent_width = 512;
  Attention a = attention(r, hidden, named);
  a.sinks = true;
  a.value_is_key = true;
  a.span = window(r, 128, false);
  Compressed s{hidden,
               r.keys.size("q_lora_rank", 1024),
               r.keys.size("o_groups", 8),
               r.keys.size("o_lora_rank", 1024),
               r.keys.size("index_n_heads", 64),
               r.keys.size("index_head_dim", 128),
               r.keys.size("index_topk", 512)};
  if (a.output() % s.groups != 0)
    r.keys.found()
        .error("O0911", fmt::format("{} groups do not divide {} elements of the heads", s.groups, a.output()),
               r.keys.where("o_groups"))
        .note(fmt::format("{} / {} leaves {}", a.output(), s.groups, a.output() % s.groups));
  Count sparse_ratio = 4, heavy_ratio = 128;
  if (const json::Node* rates = r.keys.value("compress_rates"); rates != nullptr && rates->is_object()) {
    ConfigKeys own(*rates, r.keys.where("compress_rates"), r.keys.found());
    sparse_ratio = own.size(kSparsely, sparse_ratio);
    heavy_ratio = own.size(kHeavily, heavy_ratio);
  }
  sparse_ratio = r.keys.size("compress_rate_csa", sparse_ratio);
  heavy_ratio = r.keys.size("compress_rate_hca", heavy_ratio);
  const std::vector<std::string> types = attention_types(r, layers);
  Attention near = compressed(a, s, 1, false);
  reach_window(near, a.span);
  const Count width = r.keys.size("moe_intermediate_size", 2048);
  Experts e = experts(r, r.keys.spelled({"n_routed_experts", "num_local_experts"}), "num_experts_per_tok", 256, 6,
                      {width, true, false});
  e.expert.clamped = r.keys.number("swiglu_limit", 10) > 0;
  e.shared = r.keys.count("n_shared_experts", 1);
  e.shared_expert = {width, true, false, e.expert.clamped};
  const Count streams = r.keys.size("hc_mult", 4), all = base::checked_multiply(streams, hidden);
  const Count mixed = (2 + streams) * streams;
  r.keys.know({"num_hash_layers", "mlp_layer_types", "qk_rope_head_dim", "compress_rope_theta", "hc_sinkhorn_iters",
               "hc_eps", "attention_bias", "mlp_bias", "n_group", "topk_group", "v_head_dim"});
  Block block;
  block.norm = rms_norm();
  block.feed_forward = e;
  block.extra = {{"layer-streams", all, mixed, mixed}, {"layer-streams", all, mixed, mixed}};
  block.extra_parameters = 6;  // scales
  std::vector<Block> kinds(3, block);
  kinds[0].mixer = near;
  kinds[1].mixer = compressed(a, s, sparse_ratio, true);
  kinds[2].mixer = compressed(a, s, heavy_ratio, false);
  finish_kinds(
      r, hidden, layers, kinds,
      [&](Count layer) {
        const std::string& type = types[static_cast<std::size_t>(layer)];
        return type == kSparsely ? 1 : type == kHeavily ? 2 : 0;
      },
      false);
  r.model.stacks.back().out_of.push_back({"streams", all, streams, streams});
  r.model.stacks.back().other_parameters = 1;  // a scale
  r.model.predicted_ahead = predicted_ahead(r);
  // A window alone, and streams made one anew before the logits. Two matrices h -> h for the two inputs are as large as
  // one of both; that the state's is applied to each stream is not among the operations.
  block.mixer = near;
  r.model.ahead.layers = {block};
  r.model.ahead.behind = {{"layer-streams", all, streams, streams}};
  r.model.ahead.behind_parameters = 1;
}

}  // namespace orrery::formats::huggingface
