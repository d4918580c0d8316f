// Idea: one table of keys and what each must be. A value of the wrong type is a slip that other readers of the file
// would trip over; here it would pass as if the key were absent, and answer for another model. Cost: keys times table.
#include "orrery/formats/huggingface/value_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "orrery/base/text/text.h"

namespace orrery::formats::huggingface {
namespace {

using json::Node;

enum class Wanted { kText, kTexts, kProbability, kToken };

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
      break;
  }
  return is_whole(value) ? "" : "a whole number";
}

}  // namespace

void check_value_types(const Node& object, const std::vector<std::string>& ignored, base::Diagnostics& found) {
  for (const json::Member& member : object.members) {
    bool known = false;
    const Wanted wanted = wanted_of(member.key, known);
    if (!known || member.value.is_null() || base::contains(ignored, member.key)) continue;
    const std::string_view lack = lacking(wanted, member.value);
    if (lack.empty()) continue;
    // Of a list, the item that is not a text.
    const auto odd = std::find_if(member.value.items.begin(), member.value.items.end(),
                                  [](const Node& item) { return !item.is_text(); });
    const bool item = wanted == Wanted::kTexts && odd != member.value.items.end();
    found
        .error("O0903",
               fmt::format("`{}` must be {}, but {}{}", member.key, lack, item ? "holds " : "is ",
                           json::describe(item ? *odd : member.value)),
               item ? odd->where : member.value.where)
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
