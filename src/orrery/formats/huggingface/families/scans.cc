// State-space models: Mamba and Mamba-2, alone and, in Jamba, beside layers of attention.
#include "orrery/formats/huggingface/families/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "orrery/formats/huggingface/families/experts.h"
#include "orrery/formats/huggingface/families/scans.h"

namespace orrery::formats::huggingface {
namespace {

using base::Count;
using workload::Attention;
using workload::Block;
using workload::Experts;
using workload::FeedForward;
using workload::QkNorm;
using workload::Recurrence;
using workload::Stack;

struct MambaSizes {
  Count hidden = 0, inner = 0, state = 0, taps = 0, rank = 0;
  bool bias = false, convolution_bias = true;
};

// Gu and Dao, "Mamba", arXiv 2312.00752: every channel has a state of its own, and a step that is projected from it.
Recurrence mamba(const MambaSizes& s) {
  Recurrence m;
  m.kind = Recurrence::Kind::kMamba;
  m.projections = {{"in", s.hidden, 2 * s.inner, s.bias ? 2 * s.inner : 0},
                   {"x", s.inner, s.rank + 2 * s.state},
                   {"dt", s.rank, s.inner, s.inner},
                   {"out", s.inner, s.hidden, s.bias ? s.hidden : 0}};
  m.channels = s.inner;
  m.taps = s.taps;
  m.convolution_bias = s.convolution_bias;
  m.heads = s.inner;
  m.key_width = s.state;
  m.value_width = 1;
  m.small_parameters = s.inner * s.state + s.inner;  // decays; what skips the scan
  return m;
}

// The rank of the steps: a number, or "auto" for a sixteenth of the width.
Count step_rank(Reading& r, std::string_view key, Count hidden) {
  const json::Node* node = r.keys.value(key);
  if (node != nullptr && node->is_text() && node->text == "auto") return base::ceil_divide(hidden, 16);
  return r.keys.size(key, base::ceil_divide(hidden, 16));
}

// `expand` times the width, rounded down; it may be a fraction.
Count expanded(Reading& r, std::string_view key, Count hidden) {
  const double factor = r.keys.number(key, 2);
  const double inner = std::floor(factor * static_cast<double>(hidden));
  if (inner >= 1 && inner <= static_cast<double>(kLargestSize)) return static_cast<Count>(inner);
  if (hidden > 0)
    r.keys.found().error("O0910", "the inner width must be positive, and no larger than any model's",
                         r.keys.where(key));
  return 0;
}

}  // namespace

Block rms_block(int norms) {
  Block block;
  block.norm = rms_norm();
  block.norms = norms;
  return block;
}

void finish_recurrent(Reading& r, Stack stack, bool tied) {
  positions(r, stack, "max_position_embeddings", false);
  vocabulary(r, stack.width);
  logits(r, tied);
  r.model.stacks.push_back(std::move(stack));
}

void read_mamba(Reading& r) {
  MambaSizes s;
  s.hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  s.inner = expanded(r, "expand", s.hidden);
  r.keys.know({"intermediate_size"});
  pass_layer_types(r, {"mamba", "linear_attention"});
  s.state = r.keys.size("state_size", 16);
  s.taps = r.keys.size("conv_kernel", 4);
  s.rank = step_rank(r, "time_step_rank", s.hidden);
  s.bias = r.keys.flag("use_bias", false);
  s.convolution_bias = r.keys.flag("use_conv_bias", true);
  Block block = rms_block(1);
  block.mixer = mamba(s);
  Stack stack = decoder(s.hidden, rms_norm());
  add_layers(stack, layers, block);
  finish_recurrent(r, std::move(stack), true);
}

Recurrence mamba2(Reading& r, const Mamba2Sizes& s) {
  base::Diagnostics& found = r.keys.found();
  if (s.inner > 0 && s.heads * s.width != s.inner)
    found.error("O0911", "the heads do not make up the inner width", r.keys.where(s.heads_key))
        .note(std::to_string(s.heads) + " x " + std::to_string(s.width) + " is not " + std::to_string(s.inner));
  else if (s.groups > 0 && s.heads % s.groups != 0)
    found.error("O0911", fmt::format("{} groups do not divide {} heads", s.groups, s.heads), r.keys.where(s.heads_key))
        .note(fmt::format("{} / {} leaves {}: each group serves the same number of heads", s.heads, s.groups,
                          s.heads % s.groups));
  Recurrence m;
  m.kind = Recurrence::Kind::kMamba2;
  m.channels = s.inner + 2 * s.groups * s.state;
  m.taps = s.taps;
  m.convolution_bias = s.convolution_bias;
  const Count in = s.inner + m.channels + s.heads;
  m.projections = {{"in", s.hidden, in, s.bias ? in : 0}, {"out", s.inner, s.hidden, s.output_bias ? s.hidden : 0}};
  m.heads = s.heads;
  m.key_width = s.state;
  m.value_width = s.width;
  m.small_parameters = 3 * s.heads + (s.norm ? s.inner : 0);  // steps, decays, what skips the scan; a norm
  return m;
}

void read_mamba2(Reading& r) {
  Mamba2Sizes s;
  s.hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  s.inner = expanded(r, "expand", s.hidden);
  s.heads = r.keys.size("num_heads", 128);
  s.width = r.keys.size("head_dim", 64);
  s.state = r.keys.size("state_size", 128);
  s.groups = r.keys.size("n_groups", 8);
  s.bias = s.output_bias = r.keys.flag("use_bias", false);
  r.keys.know({"time_step_rank"});
  pass_layer_types(r, {"mamba2", "mamba", "linear_attention"});
  s.taps = r.keys.size("conv_kernel", 4);
  s.convolution_bias = r.keys.flag("use_conv_bias", true);
  Block block = rms_block(1);
  block.mixer = mamba2(r, s);
  Stack stack = decoder(s.hidden, rms_norm());
  add_layers(stack, layers, block);
  finish_recurrent(r, std::move(stack), false);
}

namespace {

// Jamba's class takes the kinds of layers from periods; a list beside them must say the same.
void check_types(Reading& r, std::string_view key, Count layers, const std::function<bool(Count)>& attends) {
  const std::vector<std::string> types = r.keys.texts(key);
  if (!r.keys.given(key) || types.empty()) return;
  for (std::size_t i = 0; i < std::max(types.size(), static_cast<std::size_t>(layers)); ++i) {
    const bool there = i < types.size() && i < static_cast<std::size_t>(layers);
    const bool wanted = attends(static_cast<Count>(i));
    const bool attention = there && (types[i] == "attention" || types[i] == "full_attention");
    const bool scan = there && (types[i] == "mamba" || types[i] == "linear_attention");
    if (wanted ? attention : scan) continue;
    r.keys.found()
        .error("O0922", fmt::format("`{}` and the periods of the layers disagree", key), r.keys.where(key))
        .note(fmt::format("by `attn_layer_period` and `attn_layer_offset`, layer {} is {}, but the list {}", i,
                          wanted ? "attention" : "a scan",
                          there ? fmt::format("has `{}`", types[i].substr(0, 40))
                                : fmt::format("has {} items for {} layers", types.size(), layers)))
        .hint("correct the one or the other: the family's class reads the periods");
    return;
  }
}

}  // namespace

void read_jamba(Reading& r) {
  MambaSizes s;
  s.hidden = sized(r, "hidden_size");
  const Count layers = layers_of(r, "num_hidden_layers");
  const Count heads = sized(r, "num_attention_heads");
  const Attention a =
      attention_of(r, s.hidden, heads, r.keys.size("num_key_value_heads", 8, 0), r.keys.size("head_dim", 0), {});
  s.inner = expanded(r, "mamba_expand", s.hidden);
  s.state = r.keys.size("mamba_d_state", 16);
  s.taps = r.keys.size("mamba_d_conv", 4);
  s.rank = step_rank(r, "mamba_dt_rank", s.hidden);
  s.bias = r.keys.flag("mamba_proj_bias", false);
  s.convolution_bias = r.keys.flag("mamba_conv_bias", true);
  Recurrence m = mamba(s);
  m.small_parameters += s.rank + 2 * s.state;  // norms of what is projected
  const FeedForward dense = {sized(r, "intermediate_size"), true, false};
  const Experts mixture =
      experts(r, r.keys.spelled({"num_experts", "num_local_experts"}), "num_experts_per_tok", 16, 2, dense);
  const Count attention_every = r.keys.size("attn_layer_period", 8),
              attention_at = r.keys.count("attn_layer_offset", 4);
  const Count mixture_every = r.keys.size("expert_layer_period", 2),
              mixture_at = r.keys.count("expert_layer_offset", 1);
  const auto demand = [&](std::string_view offset, Count at, std::string_view period, Count every) {
    if (at < every) return;
    r.keys.found().error(
        "O0910", fmt::format("`{}` must be less than `{}`, but {} is not less than {}", offset, period, at, every),
        r.keys.where(offset));
  };
  demand("attn_layer_offset", attention_at, "attn_layer_period", attention_every);
  demand("expert_layer_offset", mixture_at, "expert_layer_period", mixture_every);
  for (const std::string_view key : {"layer_types", "layers_block_type"})
    check_types(r, key, layers, [=](Count layer) { return layer % attention_every == attention_at; });
  std::vector<Block> kinds(4, rms_block(2));
  kinds[0].mixer = kinds[1].mixer = m;
  kinds[2].mixer = kinds[3].mixer = a;
  for (const std::size_t kind : {0, 2}) kinds[kind].feed_forward = dense;
  // A mixture of one expert is a feed-forward network.
  for (const std::size_t kind : {1, 3})
    if (mixture.count > 1)
      kinds[kind].feed_forward = mixture;
    else
      kinds[kind].feed_forward = dense;
  Stack stack = decoder(s.hidden, rms_norm());
  add_layers(stack, layers, kinds, [&](Count layer) {
    return (layer % attention_every == attention_at ? 2 : 0) + (layer % mixture_every == mixture_at ? 1 : 0);
  });
  finish_recurrent(r, std::move(stack), false);
}

}  // namespace orrery::formats::huggingface
