// Cost: a look through the names for each key.
#include "orrery/formats/huggingface/activations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "orrery/base/text/edit_distance.h"

namespace orrery::formats::huggingface {
namespace {

constexpr std::array<std::string_view, 34> kActivations = {"gelu",
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
                                                           "xielu",
                                                           "swigluoai",
                                                           "situ"};

}  // namespace

void check_activations(const json::Node& object, const std::vector<std::string>& ignored, base::Diagnostics& found) {
  constexpr std::string_view kGated = "gated-";
  for (const std::string_view key :
       {"hidden_act", "hidden_activation", "activation", "activation_function", "feed_forward_proj"}) {
    const json::Member* member = object.find(key);
    if (member == nullptr || !member->value.is_text()) continue;
    if (std::find(ignored.begin(), ignored.end(), key) != ignored.end()) continue;
    std::string name = member->value.text;
    if (name.starts_with(kGated)) name = name.substr(kGated.size());
    if (std::find(kActivations.begin(), kActivations.end(), name) != kActivations.end()) continue;
    found.error("O0925", fmt::format("`{}` is not a known activation", name.substr(0, 60)), member->value.where)
        .hint(base::did_you_mean(name, std::vector<std::string>(kActivations.begin(), kActivations.end()),
                                 fmt::format("element by element all cost the same: `--ignore {}`", key)));
  }
}

}  // namespace orrery::formats::huggingface
