// Idea: one table of keys and what each must be; of others that are read or known their names say it. A value of the
// wrong type is a slip that other readers of the file would trip over; here it would pass as if the key were absent,
// and answer for another model. Cost: keys times table.
#include "orrery/formats/huggingface/value_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "orrery/base/text/text.h"
#include "orrery/formats/huggingface/keys.h"

namespace orrery::formats::huggingface {
namespace {

using json::Node;

enum class Wanted { kText, kTexts, kProbability, kToken, kNumber, kList, kObject, kSingle };

Wanted wanted_of(std::string_view key, bool& known) {
  static constexpr std::array<std::string_view, 7> kTexts = {
      "hidden_act", "hidden_activation", "activation", "activation_function", "torch_dtype", "dtype", "_name_or_path"};
  const auto among = [&](const auto& keys) { return base::contains(keys, key); };
  known = true;
  if (among(kTexts)) return Wanted::kText;
  if (key == "architectures") return Wanted::kTexts;
  if (key == "pad_token_id") return Wanted::kToken;
  known = among(hidden_dropouts()) || among(attention_dropouts());
  return Wanted::kProbability;
}

// Of a key that is read or known, what its name says of its value; the getters look closer at those that are read.
Wanted shape_of(std::string_view key, bool& known) {
  static constexpr std::array kLists = {"attn_type_list", "mlp_only_layers",       "mlp_layer_types",
                                        "layer_types",    "swiglu_limits",         "swiglu_limits_shared",
                                        "mrope_section",  "fullatt_block_indexes", "keys_to_ignore_at_inference",
                                        "bad_words_ids",  "suppress_tokens",       "begin_suppress_tokens"};
  static constexpr std::array kObjects = {
      "rope_scaling",         "rope_parameters", "id2label",    "label2id", "auto_map",
      "task_specific_params", "attn_config",     "init_config", "ssm_cfg",  "moe_config"};
  // Of several kinds, by file: a number or one for each layer, a text or an object.
  static constexpr std::array kAny = {"language",
                                      "license",
                                      "rope_theta",
                                      "no_rope_layers",
                                      "time_step_limit",
                                      "exponential_decay_length_penalty",
                                      "vision_feature_layer",
                                      "conv_dim",
                                      "conv_dim_out",
                                      "order_of_interleaved_layers",
                                      "sliding_window",
                                      "sliding_window_pattern",
                                      "attn_implementation",
                                      "_attn_implementation",
                                      "partial_rotary_factor",
                                      "swiglu_limit",
                                      "initializer_range",
                                      "block_auto_adjust_ff_dim"};
  const auto starts = [&](std::string_view with) { return key.starts_with(with); };
  const auto ends = [&](std::string_view with) { return key.ends_with(with); };
  known = true;
  if (base::contains(kLists, key)) return Wanted::kList;
  if (base::contains(kObjects, key)) return Wanted::kObject;
  known = !base::contains(kAny, key);
  if (starts("num_") || starts("n_") || ends("_size") || ends("_dim") || ends("_rank")) return Wanted::kNumber;
  known = known && !ends("_token_id") && !why_harmless(key).empty();
  return Wanted::kSingle;
}

bool is_texts(const Node& value) {
  return value.kind == Node::Kind::kList &&
         std::all_of(value.items.begin(), value.items.end(), [](const Node& item) { return item.is_text(); });
}

bool is_whole(const Node& value) {
  return value.is_number() && value.text.find_first_of(".eE") == std::string::npos;
}

// What the value should be; empty where it is.
std::string_view lacking(Wanted wanted, const Node& value) {
  switch (wanted) {
    case Wanted::kText:
      return value.is_text() ? "" : "a text";
    case Wanted::kTexts:
      return is_texts(value) ? "" : "a list of texts";
    case Wanted::kProbability:
      return value.is_number() && value.number >= 0 && value.number <= 1 ? "" : "a probability from 0 to 1";
    case Wanted::kToken:
      return is_whole(value) ? "" : "a whole number";
    case Wanted::kNumber:  // or one for each layer
      return value.is_number() || value.kind == Node::Kind::kList ? "" : "a number";
    case Wanted::kList:
      return value.kind == Node::Kind::kList ? "" : "a list";
    case Wanted::kObject:
      return value.is_object() ? "" : "an object";
    case Wanted::kSingle:
      break;
  }
  return value.kind == Node::Kind::kList || value.is_object() ? "a single value" : "";
}

}  // namespace

void check_value_types(const Node& object, const std::set<std::string, std::less<>>& read,
                       const std::vector<std::string>& ignored, base::Diagnostics& found) {
  std::set<std::pair<int, int>> said;
  for (const base::Diagnostic& one : found.all()) said.emplace(one.primary.where.line, one.primary.where.column);
  for (const json::Member& member : object.members) {
    const Node& value = member.value;
    bool known = false;
    Wanted wanted = wanted_of(member.key, known);
    if (!known &&
        (read.contains(member.key) || find_costly_key(member.key) != nullptr || !why_harmless(member.key).empty())) {
      wanted = shape_of(member.key, known);
      known = known && !(value.kind == Node::Kind::kTruth && !value.truth);  // which is as good as null
    }
    if (!known || value.is_null() || base::contains(ignored, member.key)) continue;
    const std::string_view lack = lacking(wanted, value);
    if (lack.empty() || said.contains({value.where.line, value.where.column})) continue;
    // Of a list, the item that is not a text.
    const auto odd =
        std::find_if(value.items.begin(), value.items.end(), [](const Node& item) { return !item.is_text(); });
    const bool item = wanted == Wanted::kTexts && odd != value.items.end();
    found
        .error("O0903",
               fmt::format("`{}` must be {}, but {}{}", member.key, lack, item ? "holds " : "is ",
                           json::describe(item ? *odd : value)),
               item ? odd->where : value.where)
        .label(wanted == Wanted::kTexts ? "each item is a text" : std::string(lack));
  }
}

const std::vector<std::string_view>& hidden_dropouts() {
  static const std::vector<std::string_view> keys = {
      "hidden_dropout_prob", "hidden_dropout",    "resid_pdrop", "embd_pdrop",   "dropout",
      "residual_dropout",    "embedding_dropout", "emb_pdrop",   "dropout_rate", "mlp_dropout"};
  return keys;
}

const std::vector<std::string_view>& attention_dropouts() {
  static const std::vector<std::string_view> keys = {"attention_probs_dropout_prob", "attention_dropout", "attn_pdrop",
                                                     "attn_dropout"};
  return keys;
}

}  // namespace orrery::formats::huggingface
