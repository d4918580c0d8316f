// Vision towers beside language models: what turns an image into tokens of the decoder's width. Their parameters are
// counted; a token of text does not pass them.
//
//   CLIP       a token for the class, norms before and behind the layers
//   SigLIP     no such token; where `vision_use_head` says so, one more attention that pools
//   Pixtral    rotary positions, RMS norms, gated feed-forward networks, nothing with a bias
//   Llama 4    CLIP's, with a two-layer network that joins four patches
//   Qwen2.5-VL patches of two frames, RMS norms, gated feed-forward networks with biases; four patches are joined
//   Qwen3-VL   layer norms, a table of positions; further mergers of layers in the middle (Qwen 3.5: none)
//   Kimi K2.5, Gemma 4, MiniMax-M3, Step 3.7: what each one's function says
//
// What leads from a tower into the decoder is the composite's, whatever tower it has: LLaVA's two layers, Gemma's norm
// and one matrix, Mistral's norm, merger and two layers. Other composites' is not known, and so is their tower not
// counted.
#include "orrery/formats/huggingface/families/towers.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace orrery::formats::huggingface {
namespace {

using base::Count;
using workload::Attention;
using workload::Block;
using workload::FeedForward;
using workload::Norm;
using workload::Projection;
using workload::Stack;

struct TowerSizes {
  Count hidden, inner, layers, heads, image, patch;
};

struct Tower {
  ConfigKeys keys;
  Stack stack;
  Count pixels = 0, patches = 0;
};

struct TowerKeys {
  std::string_view layers = "num_hidden_layers", heads = "num_attention_heads", width = "";
  std::string_view hidden = "hidden_size", inner = "intermediate_size";
};

Tower begin(Reading& r, const json::Node& vision, const TowerSizes& absent, const Norm& norm, bool biases, bool gated,
            const TowerKeys& named = {}) {
  const auto [layers_key, heads_key, width_key, hidden_key, inner_key] = named;
  Tower tower{ConfigKeys(vision, vision.where, r.keys.found()), {}, 0, 0};
  ConfigKeys& keys = tower.keys;
  const Count hidden = keys.size(hidden_key, absent.hidden);
  const Count layers = keys.size(layers_key, absent.layers);
  if (layers > kMostLayers) {
    r.keys.found().error("O0910", "a tower has more layers than any model's", keys.where(layers_key));
    return tower;
  }
  keys.know({"model_type"});
  Reading own{keys, r.model};
  Attention a = attention_of(own, hidden, keys.size(heads_key, absent.heads), 0,
                             width_key.empty() ? 0 : keys.size(width_key, 0), {heads_key, "", width_key});
  a.causal = false;
  bias_all(a, biases);
  Block block;
  block.mixer = a;
  block.feed_forward = FeedForward{keys.size(inner_key, absent.inner), gated, biases};
  block.norm = norm;
  tower.stack = encoder(hidden, {});
  tower.stack.name = "vision tower";
  add_layers(tower.stack, layers, block);
  const Rectangle patch = sides(keys, "patch_size", absent.patch), image = sides(keys, "image_size", absent.image);
  tower.patches = (image.height / patch.height) * (image.width / patch.width);
  if (tower.patches < 1)
    r.keys.found()
        .error("O0910", "an image must have at least one patch", keys.where("patch_size"))
        .note(fmt::format("patches of {} x {} in images of {} x {}", patch.height, patch.width, image.height,
                          image.width));
  tower.pixels = base::checked_multiply(patch.height * patch.width,
                                        keys.size(keys.spelled({"num_channels", "in_channels", "in_chans"}), 3));
  return tower;
}

Count text_width(const Reading& r) {
  return r.model.decoder().width;
}

// LLaVA's and Mistral's: from as many of the tower's layers as are named, side by side.
void two_layers(Reading& r, Tower& t, bool bias_if_absent) {
  ConfigKeys keys(*r.outer, r.outer->where, r.keys.found());
  const json::Node* from = keys.value("vision_feature_layer");
  const auto named = from != nullptr && from->kind == json::Node::Kind::kList
                         ? static_cast<Count>(keys.counts("vision_feature_layer").size())
                         : Count{1};
  const Count width = text_width(r);
  const Count bias = keys.flag("multimodal_projector_bias", bias_if_absent) ? width : 0;
  t.stack.out_of.push_back(
      Projection{"projector", base::checked_multiply(std::max<Count>(1, named), t.stack.width), width, bias});
  t.stack.out_of.push_back(Projection{"projector", width, width, bias});
}

void into_llava(Reading& r, Tower& t) {
  two_layers(r, t, true);
}

void into_gemma3(Reading& r, Tower& t) {
  t.stack.out_of.push_back(Projection{"projector", t.stack.width, text_width(r)});
  t.stack.other_parameters += t.stack.width;  // a norm
}

void into_mistral3(Reading& r, Tower& t) {
  ConfigKeys keys(*r.outer, r.outer->where, r.keys.found());
  const Count side = keys.size("spatial_merge_size", 2), width = t.stack.width;
  t.stack.other_parameters += width;  // a norm
  t.stack.out_of.push_back(
      Projection{"merger", base::checked_multiply(base::checked_multiply(side, side), width), width});
  two_layers(r, t, false);
}

Tower clip(Reading& r, const json::Node& vision) {
  Tower t = begin(r, vision, {768, 3072, 12, 12, 224, 32}, layer_norm(), true, false);
  Stack& s = t.stack;
  s.into = {Projection{"patches", t.pixels, s.width}};
  s.position_rows = t.patches + 2;  // the class's token among them
  s.entry = s.exit = layer_norm();
  return t;
}

Tower siglip(Reading& r, const json::Node& vision) {
  Tower t = begin(r, vision, {768, 3072, 12, 12, 224, 16}, layer_norm(), true, false);
  Stack& s = t.stack;
  const Count h = s.width;
  s.into = {Projection{"patches", t.pixels, h, h}};
  s.position_rows = t.patches;
  s.exit = layer_norm();
  if (t.keys.flag("vision_use_head", true)) {
    const Count inner = t.keys.size("intermediate_size", 3072);
    s.out_of.push_back(Projection{"pooling", h, 3 * h, 3 * h});
    s.out_of.push_back(Projection{"pooling", h, h, h});
    s.out_of.push_back(Projection{"pooling", h, inner, inner});
    s.out_of.push_back(Projection{"pooling", inner, h, h});
    s.other_parameters += h + 2 * h;  // what asks; a norm
  }
  return t;
}

Tower pixtral(Reading& r, const json::Node& vision) {
  Tower t = begin(r, vision, {1024, 4096, 24, 16, 1024, 16}, rms_norm(), false, true, {.width = "head_dim"});
  Stack& s = t.stack;
  s.into = {Projection{"patches", t.pixels, s.width}};
  s.entry = rms_norm();
  return t;
}

Tower llama4(Reading& r, const json::Node& vision) {
  Tower t = begin(r, vision, {768, 5632, 34, 16, 448, 14}, layer_norm(), true, false);
  Stack& s = t.stack;
  s.into = {Projection{"patches", t.pixels, s.width}};
  s.position_rows = t.patches + 2;
  s.entry = s.exit = layer_norm();
  const Count in = t.keys.size("projector_input_dim", 4096), out = t.keys.size("projector_output_dim", 4096);
  s.out_of = {Projection{"adapter", t.keys.size("intermediate_size", 5632), in}, Projection{"adapter", out, out},
              Projection{"projector", t.keys.size("vision_output_dim", 7680), text_width(r)}};
  return t;
}

Tower qwen2_5_vl(Reading& r, const json::Node& vision) {
  Tower t = begin(r, vision, {3584, 3420, 32, 16, 224, 14}, rms_norm(), true, true,
                  {.layers = "depth", .heads = "num_heads"});
  Stack& s = t.stack;
  const Count h = s.width;
  s.into = {Projection{"patches", base::checked_multiply(t.pixels, t.keys.size("temporal_patch_size", 2)), h}};
  const Count merge = t.keys.size("spatial_merge_size", 2);
  const Count joined = base::checked_multiply(merge * merge, h), out = t.keys.size("out_hidden_size", 3584);
  s.out_of = {Projection{"merger", joined, joined, joined}, Projection{"merger", joined, out, out}};
  s.other_parameters = h;  // a norm
  return t;
}

// The tower's tokens, four joined, and those of some layers besides.
Tower qwen3_vl(Reading& r, const json::Node& vision) {
  Tower t = begin(r, vision, {1152, 4304, 27, 16, 224, 16}, layer_norm(), true, false,
                  {.layers = "depth", .heads = "num_heads"});
  Stack& s = t.stack;
  const Count h = s.width, merge = t.keys.size("spatial_merge_size", 2);
  s.into = {Projection{"patches", base::checked_multiply(t.pixels, t.keys.size("temporal_patch_size", 2)), h, h}};
  s.position_rows = t.keys.size("num_position_embeddings", 2304);
  const Count joined = base::checked_multiply(merge * merge, h), out = t.keys.size("out_hidden_size", 3584);
  const bool deep = r.outer_type.starts_with("qwen3_vl");  // the class of Qwen 3.5 reads no such key
  Count mergers = 1;
  if (const json::Node* layers = t.keys.value("deepstack_visual_indexes"); layers != nullptr && deep)
    mergers += static_cast<Count>(t.keys.counts("deepstack_visual_indexes").size());
  else if (deep)
    mergers += 3;
  for (Count i = 0; i < mergers; ++i) {
    s.out_of.push_back(Projection{"merger", joined, joined, joined});
    s.out_of.push_back(Projection{"merger", joined, out, out});
  }
  s.other_parameters = 2 * h + (mergers - 1) * 2 * joined;  // norms
  return t;
}

Tower kimi(Reading& r, const json::Node& vision) {
  const bool published = vision.find("vt_hidden_size") != nullptr;
  Tower t =
      published
          ? begin(r, vision, {1152, 4304, 27, 16, 224, 14}, layer_norm(), true, false,
                  {"vt_num_hidden_layers", "vt_num_attention_heads", "", "vt_hidden_size", "vt_intermediate_size"})
          : begin(r, vision, {1152, 4304, 27, 16, 224, 14}, layer_norm(), true, false);
  Stack& s = t.stack;
  const Count h = s.width;
  s.into = {Projection{"patches", t.pixels, h, h}};
  s.position_rows = t.keys.size(t.keys.spelled({"init_pos_emb_height", "pos_emb_height"}), 64) *
                    t.keys.size(t.keys.spelled({"init_pos_emb_width", "pos_emb_width"}), 64);
  s.exit = layer_norm();
  const Rectangle merge = sides(t.keys, "merge_kernel_size", 2);
  const Count joined = base::checked_multiply(merge.height * merge.width, h), out = text_width(r);
  s.out_of = {Projection{"projector", joined, joined, joined}, Projection{"projector", joined, out, out}};
  s.other_parameters = 2 * t.keys.size("mm_hidden_size", h);  // a norm
  t.keys.know({"init_pos_emb_time", "pos_emb_time", "merge_type", "mm_projector_type", "pos_emb_type",
               "projector_hidden_act", "projector_ln_eps", "text_hidden_size", "video_attn_type"});
  return t;
}

// The decoder's blocks, without a causal mask; places of an image's rows and columns have a table each.
Tower gemma4(Reading& r, const json::Node& vision) {
  Tower t = begin(r, vision, {768, 3072, 16, 12, 224, 16}, rms_norm(), false, true, {.width = "head_dim"});
  Stack& s = t.stack;
  for (Block& block : s.kinds) {
    block.norms = 4;
    std::get<Attention>(block.mixer).qk_norm = workload::QkNorm::kHead;
  }
  s.into = {Projection{"patches", t.pixels, s.width}};
  s.position_rows = 2 * t.keys.size("position_embedding_size", 10240);
  s.out_of = {Projection{"projector", s.width, text_width(r)}};
  t.keys.know({"num_key_value_heads", "global_head_dim", "max_position_embeddings", "pooling_kernel_size",
               "default_output_length", "standardize", "use_clipped_linears", "rope_parameters"});
  return t;
}

Tower minimax_m3(Reading& r, const json::Node& vision) {
  Tower t = begin(r, vision, {1280, 5120, 32, 16, 2016, 14}, layer_norm(), true, false);
  Stack& s = t.stack;
  s.into = {Projection{"patches", base::checked_multiply(t.pixels, t.keys.size("temporal_patch_size", 2)), s.width}};
  s.entry = layer_norm();
  ConfigKeys keys(*r.outer, r.outer->where, r.keys.found());
  const Count inner = keys.size("projector_hidden_size", 6144), text = text_width(r);
  const Count merge = t.keys.size("spatial_merge_size", 2);
  s.out_of = {Projection{"projector", s.width, inner, inner}, Projection{"projector", inner, text, text},
              Projection{"merger", base::checked_multiply(merge * merge, text), inner, inner},
              Projection{"merger", inner, text, text}};
  return t;
}

// Scales behind attention and network; two convolutions make one token of sixteen.
Tower step3p7(Reading& r, const json::Node& vision) {
  const auto either = [&](std::string_view published, std::string_view other) {
    return vision.find(published) != nullptr ? published : other;
  };
  Tower t = begin(r, vision, {1536, 3072, 47, 16, 728, 14}, layer_norm(), true, false,
                  {either("layers", "num_hidden_layers"), either("heads", "num_attention_heads"), "",
                   either("width", "hidden_size"), "intermediate_size"});
  Stack& s = t.stack;
  const Count h = s.width;
  t.keys.know({"layer_scale_init_value", "ls_init_value", "max_position_embeddings", "use_cls_token", "use_ln_pre",
               "use_ln_post", "use_abs_posemb", "use_rope2d", "pool_type", "ues_rope2d"});
  const double inner = t.keys.number("mlp_ratio", 8960.0 / 1536) * static_cast<double>(h);
  for (Block& block : s.kinds) {
    if (inner >= 1 && inner <= static_cast<double>(kLargestSize))
      std::get<FeedForward>(block.feed_forward).inner = static_cast<Count>(inner + 1e-6);
    block.extra_parameters = 2 * h;
  }
  s.into = {Projection{"patches", t.pixels, h}};
  s.position_rows = t.patches;
  s.entry = layer_norm();
  ConfigKeys keys(*r.outer, r.outer->where, r.keys.found());
  const Count text = text_width(r);
  s.out_of = {Projection{"downsampler", 9 * h, 2 * h, 2 * h}, Projection{"downsampler", 9 * 2 * h, 4 * h, 4 * h},
              Projection{"projector", 4 * h, text, keys.flag("projector_bias", false) ? text : 0}};
  return t;
}

// Towers that end in what leads on, by their composites and by types of their own.
struct WholeTower {
  std::string_view composite, type;
  Tower (*read)(Reading&, const json::Node&);
};
constexpr WholeTower kWhole[] = {{"llama4", "llama4_vision_model", llama4},
                                 {"qwen2_5_vl", "qwen2_5_vl_vision", qwen2_5_vl},
                                 {"qwen3_vl", "qwen3_vl_vision", qwen3_vl},
                                 {"qwen3_vl_moe", "qwen3_vl_moe_vision", qwen3_vl},
                                 {"qwen3_5", "qwen3_5_vision", qwen3_vl},
                                 {"qwen3_5_moe", "qwen3_5_moe_vision", qwen3_vl},
                                 {"kimi_k25", "kimi_k25_vision", kimi},
                                 {"gemma4", "gemma4_vision", gemma4},
                                 {"minimax_m3_vl", "minimax_m3_vl_vision", minimax_m3},
                                 {"step3p7", "step3p5_vision", step3p7}};

}  // namespace

std::optional<std::set<std::string, std::less<>>> read_vision_tower(Reading& r, const json::Node& whole,
                                                                    std::string_view model_type) {
  const json::Member* member = whole.find("vision_config");
  if (member == nullptr || !member->value.is_object() || r.model.stacks.empty()) return std::nullopt;
  const json::Node& vision = member->value;
  std::string type;
  if (const json::Member* said = vision.find("model_type"); said != nullptr && said->value.is_text())
    type = said->value.text;
  if (type.empty() || type == "qwen2_5_vl") type = std::string(model_type);
  Tower (*read)(Reading&, const json::Node&) = nullptr;
  void (*lead)(Reading&, Tower&) = nullptr;
  const auto* whole_tower = std::find_if(std::begin(kWhole), std::end(kWhole),
                                         [&](const WholeTower& known) { return known.composite == model_type; });
  if (whole_tower != std::end(kWhole)) {
    const bool nested = r.outer != nullptr || model_type == "llama4" || model_type == "qwen2_5_vl";
    if (nested && (type == whole_tower->composite || type == whole_tower->type || model_type == "step3p7"))
      read = whole_tower->read;
  } else if (r.outer != nullptr) {
    if (model_type == "llava") lead = into_llava;
    if (model_type == "gemma3") lead = into_gemma3;
    if (model_type == "mistral3") lead = into_mistral3;
    if (type == "clip_vision_model" || type == "llava") read = clip;
    if (type == "siglip_vision_model" || type == "gemma3") read = siglip;
    if (type == "pixtral" || type == "mistral3") read = pixtral;
    if (lead == nullptr) return std::nullopt;
  }
  if (read == nullptr) return std::nullopt;
  Tower tower = read(r, vision);
  if (lead != nullptr) lead(r, tower);
  r.model.towers.push_back(std::move(tower.stack));
  return tower.keys.read();
}

}  // namespace orrery::formats::huggingface
