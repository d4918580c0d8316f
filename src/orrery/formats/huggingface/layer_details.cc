// The file's word counts; what it leaves out is the default of the family's configuration class in Hugging Face's
// transformers. Cost: a look for each key, in the object and in the `text_config` inside of it.
#include "orrery/formats/huggingface/layer_details.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "orrery/formats/json/document.h"

namespace orrery::formats::huggingface {
namespace {

using json::Node;

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
constexpr std::array<std::string_view, 14> kTurning = {"gpt_neox",   "gptj", "codegen",    "falcon",  "phi",
                                                       "persimmon",  "olmo", "starcoder2", "cohere",  "cohere2",
                                                       "nomic_bert", "esm",  "modernbert", "stablelm"};
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

double number(const Node* node, double otherwise) {
  return node != nullptr && node->is_number() ? node->number : otherwise;
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

void read_positions(const Node& root, const workload::Transformer& model, LayerDetails& out) {
  const workload::Stack& stack = model.decoder();
  const Node* inside = find(root, {"attn_config"});
  const Node* alibi = inside != nullptr && inside->is_object() && inside->find("alibi") != nullptr
                          ? &inside->find("alibi")->value
                          : find(root, {"alibi", "use_alibi"});
  out.distances = stack.distance_rows > 0 || holds_true(alibi) || model.family == "bloom" ||
                  (model.family == "mpt" && alibi == nullptr);
  const bool rms = !stack.kinds.empty() && stack.kinds.front().norm.kind == workload::NormKind::kRms;
  const Node* base = find(root, {"rope_theta", "rotary_emb_base"});
  const Node* set = find(root, {"rope_parameters"});
  const bool known = rms || base != nullptr || set != nullptr || holds(kTurning, model.family);
  if (out.distances || stack.learned_positions || !known) return;
  out.turning = holds(kInPairs, model.family) || holds_true(find(root, {"rope_interleave", "rope_interleaved"}))
                    ? Turning::kPairs
                    : Turning::kHalves;
  if (set != nullptr && set->is_object() && set->find("rope_theta") != nullptr) base = &set->find("rope_theta")->value;
  out.turning_base = number(base, 10000);
  const bool quarter = model.family == "gpt_neox" || model.family == "stablelm";
  const bool half = model.family == "phi" || model.family == "persimmon" || model.family == "glm";
  out.turned_share = number(find(root, {"partial_rotary_factor", "rotary_pct", "rope_percent"}), quarter ? 0.25
                                                                                                 : half  ? 0.5
                                                                                                         : 1);
  const double elements = number(find(root, {"rotary_dim"}), model.family == "gptj" ? 64 : 0);
  if (elements >= 1 && elements <= 65536) out.turned = static_cast<base::Count>(elements);
  const Node* scaling = find(root, {"rope_scaling"});
  if (scaling != nullptr && scaling->is_object() && !scaling->members.empty())
    out.bent.emplace_back("angles are not scaled as `rope_scaling` says");
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
                           bool gated) {
  const Node root = json::parse_pythons(file, "O0900");
  LayerDetails out;
  read_activation(root, model, gated, out);
  read_positions(root, model, out);
  out.epsilon = number(find(root, {"layer_norm_eps", "rms_norm_eps", "layer_norm_epsilon", "layernorm_epsilon",
                                   "norm_eps", "norm_epsilon"}),
                       usual_epsilon(model));
  return out;
}

}  // namespace orrery::formats::huggingface
