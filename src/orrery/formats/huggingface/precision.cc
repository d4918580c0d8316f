// Quantised files name their method; each method has keys of its own for the width.
#include "orrery/formats/huggingface/precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "orrery/base/edit_distance.h"

namespace orrery::formats::huggingface {
namespace {

using json::Node;

const Node* inside(const Node* object, std::string_view key) {
  if (object == nullptr || !object->is_object()) return nullptr;
  const json::Member* member = object->find(key);
  return member == nullptr || member->value.is_null() ? nullptr : &member->value;
}

std::string_view text_of(const Node* node) {
  return node != nullptr && node->is_text() ? std::string_view(node->text) : std::string_view();
}

std::optional<int> bits_of(const Node* node) {
  if (node == nullptr || !node->is_number() || !(node->number >= 1 && node->number <= 64)) return std::nullopt;
  return static_cast<int>(node->number);
}

bool holds(const Node* node) {
  return node != nullptr && node->kind == Node::Kind::kTruth && node->truth;
}

std::optional<int> quantised(const Node* config) {
  if (config == nullptr) return std::nullopt;
  if (const auto bits = bits_of(inside(config, "bits"))) return bits;  // GPTQ, AWQ and their like
  const std::string_view method = text_of(inside(config, "quant_method"));
  if (method == "fp8" || method == "fbgemm_fp8") return 8;
  if (method == "mxfp4") return 4;
  if (holds(inside(config, "load_in_4bit")) || holds(inside(config, "_load_in_4bit"))) return 4;
  if (holds(inside(config, "load_in_8bit")) || holds(inside(config, "_load_in_8bit"))) return 8;
  const Node* groups = inside(config, "config_groups");  // compressed-tensors
  if (groups == nullptr || groups->members.empty()) return std::nullopt;
  return bits_of(inside(inside(&groups->members.front().value, "weights"), "num_bits"));
}

constexpr std::array<std::string_view, 32> kActivations = {"gelu",
                                                           "gelu_new",
                                                           "gelu_fast",
                                                           "gelu_python",
                                                           "gelu_python_tanh",
                                                           "gelu_pytorch_tanh",
                                                           "gelu_accurate",
                                                           "gelu_10",
                                                           "quick_gelu",
                                                           "relu",
                                                           "relu2",
                                                           "relu6",
                                                           "relu_squared",
                                                           "squared_relu",
                                                           "silu",
                                                           "swish",
                                                           "swiglu",
                                                           "geglu",
                                                           "reglu",
                                                           "mish",
                                                           "linear",
                                                           "sigmoid",
                                                           "tanh",
                                                           "laplace",
                                                           "leaky_relu",
                                                           "prelu",
                                                           "selu",
                                                           "elu",
                                                           "celu",
                                                           "hardswish",
                                                           "softplus",
                                                           "xielu"};

}  // namespace

std::optional<int> quantised_bits(const Node& object) {
  return quantised(inside(&object, "quantization_config"));
}

std::optional<int> weight_bits(const Node& object) {
  if (const auto bits = quantised_bits(object)) return bits;
  std::string_view type = text_of(inside(&object, "dtype"));
  if (type.empty()) type = text_of(inside(&object, "torch_dtype"));
  for (const auto& [name, bits] : {std::pair<std::string_view, int>{"float64", 64},
                                   {"float32", 32},
                                   {"bfloat16", 16},
                                   {"float16", 16},
                                   {"float8_e4m3fn", 8},
                                   {"float8_e5m2", 8}})
    if (type == name) return bits;
  return std::nullopt;
}

void check_activations(const Node& object, const std::vector<std::string>& ignored, base::Diagnostics& found) {
  constexpr std::string_view kGated = "gated-";
  for (const std::string_view key :
       {"hidden_act", "hidden_activation", "activation", "activation_function", "feed_forward_proj"}) {
    const json::Member* member = object.find(key);
    if (member == nullptr || !member->value.is_text()) continue;
    if (std::find(ignored.begin(), ignored.end(), key) != ignored.end()) continue;
    std::string name = member->value.text;
    if (name.starts_with(kGated)) name = name.substr(kGated.size());
    if (std::find(kActivations.begin(), kActivations.end(), name) != kActivations.end()) continue;
    found.error("O0925", fmt::format("`{}` is no activation that is known", name.substr(0, 60)), member->value.where)
        .hint(base::did_you_mean(name, std::vector<std::string>(kActivations.begin(), kActivations.end()),
                                 fmt::format("element by element all cost the same: `--ignore {}`", key)));
  }
}

}  // namespace orrery::formats::huggingface
