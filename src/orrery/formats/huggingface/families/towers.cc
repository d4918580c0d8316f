// Vision towers beside language models: what turns an image into tokens of the decoder's width. Their parameters are
// counted; a token of text does not pass them.
//
//   CLIP       a token for the class, norms before and behind the layers
//   SigLIP     no such token; where `vision_use_head` says so, one more attention that pools
//   Pixtral    rotary positions, RMS norms, gated feed-forward networks, nothing with a bias
//   Llama 4    CLIP's, with a two-layer network that joins four patches
//   Qwen2.5-VL patches of two frames, RMS norms, gated feed-forward networks with biases; four patches are joined
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

Tower begin(Reading& r, const json::Node& vision, const TowerSizes& absent, const Norm& norm, bool biases, bool gated,
            std::string_view layers_key = "num_hidden_layers", std::string_view heads_key = "num_attention_heads",
            std::string_view width_key = "") {
  Tower tower{ConfigKeys(vision, vision.where, r.keys.found()), {}, 0, 0};
  ConfigKeys& keys = tower.keys;
  const Count hidden = keys.size("hidden_size", absent.hidden);
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
  block.feed_forward = FeedForward{keys.size("intermediate_size", absent.inner), gated, biases};
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
  Tower t = begin(r, vision, {1024, 4096, 24, 16, 1024, 16}, rms_norm(), false, true, "num_hidden_layers",
                  "num_attention_heads", "head_dim");
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
  Tower t = begin(r, vision, {3584, 3420, 32, 16, 224, 14}, rms_norm(), true, true, "depth", "num_heads");
  Stack& s = t.stack;
  const Count h = s.width;
  s.into = {Projection{"patches", base::checked_multiply(t.pixels, t.keys.size("temporal_patch_size", 2)), h}};
  const Count merge = t.keys.size("spatial_merge_size", 2);
  const Count joined = base::checked_multiply(merge * merge, h), out = t.keys.size("out_hidden_size", 3584);
  s.out_of = {Projection{"merger", joined, joined, joined}, Projection{"merger", joined, out, out}};
  s.other_parameters = h;  // a norm
  return t;
}

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
  if (model_type == "llama4" || model_type == "qwen2_5_vl") {  // whose towers end in what leads on
    if (type == "llama4_vision_model" || type == "llama4") read = llama4;
    if (type == "qwen2_5_vl_vision" || type == "qwen2_5_vl") read = qwen2_5_vl;
    if ((read == llama4) != (model_type == "llama4")) return std::nullopt;
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
