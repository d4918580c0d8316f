// The file's word counts; what it leaves out is the default of the family's configuration class in Hugging Face's
// transformers. Cost: a look for each key, in the object and in the `text_config` inside of it.
#include "orrery/formats/huggingface/layer_details.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "orrery/formats/json/json_document.h"

namespace orrery::formats::huggingface {
namespace {

using json::Node;

// Some layers of these turn nothing.
constexpr std::array<std::string_view, 3> kSomeTurn = {"smollm3", "llama4", "llama4_text"};

// What families take that neither have gates and SiLU nor GELU.
constexpr std::array<std::pair<std::string_view, std::string_view>, 24> kDefaults = {
    {{"gpt2", "gelu_new"},
     {"gpt_bigcode", "gelu_pytorch_tanh"},
     {"gptj", "gelu_new"},
     {"gpt_neo", "gelu_new"},
     {"codegen", "gelu_new"},
     {"phi", "gelu_new"},
     {"bloom", "gelu_pytorch_tanh"},
     {"starcoder2", "gelu_pytorch_tanh"},
     {"gemma", "gelu_pytorch_tanh"},
     {"gemma2", "gelu_pytorch_tanh"},
     {"gemma3_text", "gelu_pytorch_tanh"},
     {"opt", "relu"},
     {"t5", "relu"},
     {"longt5", "relu"},
     {"m2m_100", "relu"},
     {"nllb-moe", "relu"},
     {"pegasus", "relu"},
     {"speech_to_text", "relu"},
     {"fsmt", "relu"},
     {"nemotron", "relu2"},
     {"persimmon", "relu2"},
     {"albert", "gelu_new"},
     {"mt5", "gelu_new"},
     {"umt5", "gelu_new"}}};

// Rotary positions without RMS norms, by which the others are known.
constexpr std::array<std::string_view, 15> kTurning = {"nemotron", "gpt_neox",   "gptj", "codegen",    "falcon",
                                                       "phi",      "persimmon",  "olmo", "starcoder2", "cohere",
                                                       "cohere2",  "nomic_bert", "esm",  "modernbert", "stablelm"};
constexpr std::array<std::string_view, 7> kInPairs = {"gptj", "codegen", "cohere", "cohere2", "glm", "glm4", "chatglm"};

template <typename List>
bool holds(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// The last of these keys that stands in the object or in the language model inside of it.
const Node* find(const Node& root, std::initializer_list<std::string_view> keys) {
  const json::Member* inner = root.find("text_config");
  for (const Node* object : {inner == nullptr ? nullptr : &inner->value, &root}) {
    if (object == nullptr || !object->is_object()) continue;
    for (const std::string_view key : keys)
      if (const json::Member* member = object->find(key)) return &member->value;
  }
  return nullptr;
}

// Null counts as absent. What is no number would otherwise be taken for the default, and the layer's numbers be others.
double number(const Node* node, double otherwise) {
  if (node == nullptr || node->is_null()) return otherwise;
  if (!node->is_number()) base::fail("O0903", "a number must stand here, not " + json::describe(*node), node->where);
  return node->number;
}

bool holds_true(const Node* node) {
  return node != nullptr && node->kind == Node::Kind::kTruth && node->truth;
}

void read_activation(const Node& root, const workload::Transformer& model, bool gated, LayerDetails& out) {
  const Node* named =
      find(root, {"hidden_act", "hidden_activation", "activation_function", "activation", "feed_forward_proj"});
  out.stated = named != nullptr && named->is_text();
  if (out.stated) {
    out.activation = named->text;
    out.activation_where = named->where;
    if (out.activation.starts_with("gated-")) out.activation = out.activation.substr(6);
    return;
  }
  out.activation = gated ? "silu" : "gelu";
  for (const auto& [family, activation] : kDefaults)
    if (model.family == family) out.activation = activation;
}

// The object of rotary positions: `rope_parameters` of transformers 5, which may have one for each kind of attention,
// else `rope_scaling`.
const Node* rotary_object(const Node& root, const LayerPlace& place) {
  for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
    const Node* found = find(root, {key});
    if (found == nullptr || !found->is_object()) continue;
    const json::Member* own = found->find(place.windowed ? "sliding_attention" : "full_attention");
    return own != nullptr && own->value.is_object() ? &own->value : found;
  }
  return nullptr;
}

const Node* member(const Node* object, std::string_view key) {
  const json::Member* found = object != nullptr && object->is_object() ? object->find(key) : nullptr;
  return found == nullptr || found->value.is_null() ? nullptr : &found->value;
}

// Whether angles are more than the position times a power of the base. Three positions of an image are one of a text.
bool scales_angles(const Node& rotary) {
  const Node* type = member(&rotary, "rope_type");
  if (type == nullptr) type = member(&rotary, "type");
  const Node* factor = member(&rotary, "factor");
  const bool by_one = factor == nullptr || (factor->is_number() && factor->number == 1);
  if (type == nullptr || !type->is_text()) return !by_one;
  if (type->text == "default" || type->text == "mrope") return false;
  return type->text != "linear" || !by_one;
}

// Which layers turn: `no_rope_layers` has a 1 for those that do.
bool turns(const Node& root, base::Count layer) {
  const Node* list = find(root, {"no_rope_layers"});
  const auto i = static_cast<std::size_t>(layer);
  if (list != nullptr && list->kind == Node::Kind::kList && i < list->items.size()) {
    const Node& said = list->items[i];
    return said.is_number() ? said.number != 0 : holds_true(&said);
  }
  const double interval = number(find(root, {"no_rope_layer_interval"}), 4);
  return !(interval >= 1) || std::fmod(static_cast<double>(layer + 1), interval) != 0;
}

double rotary_base(const Node& root, const workload::Transformer& model, const LayerPlace& place, const Node* rotary) {
  if (const Node* base = member(rotary, "rope_theta")) return number(base, 10000);
  if (model.family == "modernbert")
    return number(find(root, {place.windowed ? "local_rope_theta" : "global_rope_theta"}),
                  place.windowed ? 10000 : 160000);
  return number(find(root, {"rope_theta", "rotary_emb_base"}), 10000);
}

void read_share(const Node& root, const workload::Transformer& model, const Node* rotary, LayerDetails& out) {
  const bool quarter = model.family == "gpt_neox" || model.family == "stablelm";
  const bool half = model.family == "phi" || model.family == "persimmon" || model.family == "nemotron" ||
                    model.family == "glm" || model.family == "glm4";
  const Node* share = member(rotary, "partial_rotary_factor");
  if (share == nullptr) share = find(root, {"partial_rotary_factor", "rotary_pct", "rope_percent"});
  out.turned_share = number(share, quarter ? 0.25 : half ? 0.5 : 1);
  const double elements = number(find(root, {"rotary_dim"}), model.family == "gptj" ? 64 : 0);
  if (elements >= 1 && elements <= 65536) out.turned = static_cast<base::Count>(elements);
}

void read_positions(const Node& root, const workload::Transformer& model, const workload::Stack& stack,
                    const LayerPlace& place, LayerDetails& out) {
  const Node* inside = find(root, {"attn_config"});
  const Node* alibi = inside != nullptr && inside->is_object() && inside->find("alibi") != nullptr
                          ? &inside->find("alibi")->value
                          : find(root, {"alibi", "use_alibi"});
  out.distances = stack.distance_rows > 0 || holds_true(alibi) || model.family == "bloom" ||
                  (model.family == "mpt" && alibi == nullptr);
  const bool rms = !stack.kinds.empty() && stack.kinds.front().norm.kind == workload::NormKind::kRms;
  const Node* rotary = rotary_object(root, place);
  const bool known = rms || find(root, {"rope_theta", "rotary_emb_base"}) != nullptr ||
                     find(root, {"rope_parameters"}) != nullptr || holds(kTurning, model.family);
  if (out.distances || stack.learned_positions || !known) return;
  if (holds(kSomeTurn, model.family)) {
    const bool turned = turns(root, place.index);
    for (base::Count i = 0; i < static_cast<base::Count>(stack.layers.size()) && !out.turns_differ; ++i)
      out.turns_differ = turns(root, i) != turned;
    if (!turned) {
      const Node* tuned = find(root, {"attn_temperature_tuning"});
      if (model.family.starts_with("llama4") && (tuned == nullptr || holds_true(tuned)))
        out.bent.emplace_back("queries are not scaled by their position, as `attn_temperature_tuning` says");
      return;
    }
  }
  out.turning = holds(kInPairs, model.family) || holds_true(find(root, {"rope_interleave", "rope_interleaved"}))
                    ? Turning::kPairs
                    : Turning::kHalves;
  out.turning_base = rotary_base(root, model, place, rotary);
  read_share(root, model, rotary, out);
  if (rotary != nullptr && scales_angles(*rotary))
    out.bent.push_back("angles are not scaled as `" +
                       std::string(find(root, {"rope_parameters"}) != nullptr ? "rope_parameters" : "rope_scaling") +
                       "` says");
}

// Factors of scores and of what branches add.
void read_scales(const Node& root, const workload::Transformer& model, const LayerPlace& place, LayerDetails& out) {
  const std::string& family = model.family;
  std::optional<double>& scale = out.score_scale;
  if (family == "granite") {
    scale = number(find(root, {"attention_multiplier"}), 1);
    if (number(find(root, {"residual_multiplier"}), 1) != 1)
      out.bent.emplace_back("what attention and network add is not multiplied by `residual_multiplier`");
  } else if (family == "gemma2" || family == "gemma3_text" || family == "gemma3") {
    scale = 1 / std::sqrt(number(find(root, {"query_pre_attn_scalar"}), 256));
  } else if (family == "gpt2" || family == "gpt_bigcode") {
    const Node* scaled = find(root, {"scale_attn_weights"});
    if (scaled != nullptr && !scaled->is_null() && !holds_true(scaled)) scale = 1;
    if (family == "gpt2" && holds_true(find(root, {"scale_attn_by_inverse_layer_idx"})))
      scale = scale.value_or(1 / std::sqrt(static_cast<double>(place.head))) / static_cast<double>(place.index + 1);
  }
  const Node* inside = find(root, {"attn_config"});
  if (const Node* said = member(inside, "softmax_scale"); said != nullptr && said->is_number()) scale = said->number;
  const Node* clipped = member(inside, "clip_qkv");
  if (clipped == nullptr) clipped = find(root, {"clip_qkv"});
  if (number(clipped, 0) != 0) out.bent.emplace_back("queries, keys and values are not clipped as `clip_qkv` says");
}

// Of the configuration classes that differ from 1e-5.
double usual_epsilon(const workload::Transformer& model) {
  constexpr std::array<std::string_view, 12> kTiny = {"bert",       "albert", "electra",  "distilbert",
                                                      "mobilebert", "ernie",  "nezha",    "megatron-bert",
                                                      "vit",        "deit",   "layoutlm", "esm"};
  if (holds(kTiny, model.family)) return 1e-12;
  const workload::Stack& stack = model.decoder();
  const bool rms = !stack.kinds.empty() && stack.kinds.front().norm.kind == workload::NormKind::kRms;
  return rms ? 1e-6 : 0;
}

}  // namespace

LayerDetails layer_details(const std::shared_ptr<const base::SourceFile>& file, const workload::Transformer& model,
                           const workload::Stack& stack, const LayerPlace& place) {
  const Node root = json::parse_pythons(file, "O0900");
  LayerDetails out;
  read_activation(root, model, place.gated, out);
  read_positions(root, model, stack, place, out);
  read_scales(root, model, place, out);
  const Node* const epsilon = find(
      root, {"layer_norm_eps", "rms_norm_eps", "layer_norm_epsilon", "layernorm_epsilon", "norm_eps", "norm_epsilon"});
  out.epsilon = number(epsilon, usual_epsilon(model));
  if (epsilon != nullptr && !(out.epsilon >= 0))
    base::fail("O0903", "a norm's epsilon is added to a variance, and must not be negative", epsilon->where);
  return out;
}

}  // namespace orrery::formats::huggingface
