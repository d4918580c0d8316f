#include "orrery/formats/amped/inverse_rules.h"

#include <algorithm>
#include <array>

namespace orrery::formats::amped {
namespace {

using Q = equations::Quantities;

constexpr std::array kRules = {
    InverseRule{"batch_size", "minibatch_size data_parallel_degree", [](const Q& q) { return q.minibatch * q.dp; }},
    InverseRule{"tokens_to_train", "samples context", [](const Q& q) { return q.samples * q.context; }},
    InverseRule{"dimensionality", "attention_heads hidden_layer_dimension_for_attention_sublayers",
                [](const Q& q) { return q.attention_heads * q.head_width; }},
    InverseRule{"attention_heads", "dimensionality hidden_layer_dimension_for_attention_sublayers",
                [](const Q& q) { return q.dimensionality / q.head_width; }},
    InverseRule{"hidden_layer_dimension_for_attention_sublayers", "dimensionality attention_heads",
                [](const Q& q) { return q.dimensionality / q.attention_heads; }},
    InverseRule{"key_query_value_length", "hidden_layer_dimension_for_attention_sublayers",
                [](const Q& q) { return q.head_width; }},
    InverseRule{"hidden_layer_dimension_MLP_2", "dimensionality", [](const Q& q) { return 4 * q.dimensionality; }},
    InverseRule{"bandwidth_per_network_card", "inter_node_bandwidth number_of_network_cards_per_node",
                [](const Q& q) { return q.node_bandwidth / q.cards; }},
};

}  // namespace

const InverseRule* inverse_rule(std::string_view name) {
  const auto found = std::find_if(kRules.begin(), kRules.end(), [&](const InverseRule& r) { return r.name == name; });
  return found == kRules.end() ? nullptr : &*found;
}

}  // namespace orrery::formats::amped
