// Cost: a look through the object's keys for each getter.
#include "orrery/formats/huggingface/families/config_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"

namespace orrery::formats::huggingface {
namespace {

using base::Count;
using json::Node;

bool is_float(const Node& node) {
  return node.is_number() && node.text.find_first_of(".eE") != std::string::npos;
}

// "write 4096" for 4096.0, where that is near enough to be meant.
std::string whole_text(const Node& node) {
  constexpr double kMost = 1e15;
  if (!is_float(node) || node.number != std::floor(node.number) || !(node.number >= 1 && node.number <= kMost))
    return {};
  return fmt::format("write {:.0f}", node.number);
}

}  // namespace

std::string kind_of(const Node& node) {
  if (is_float(node))
    return (node.number == std::floor(node.number) ? "written as the float " : "the fractional number ") + node.text;
  return json::describe(node);
}

std::vector<std::string_view> other_names(std::string_view key) {
  static const std::vector<std::vector<std::string_view>> kSizes = {
      {"hidden_size", "n_embd", "d_model", "dim", "n_embed"},
      {"num_hidden_layers", "n_layer", "n_layers", "num_layers"},
      {"num_attention_heads", "n_head", "n_heads", "num_heads"},
      {"num_key_value_heads", "num_kv_heads"},
      {"intermediate_size", "n_inner", "ffn_dim", "hidden_dim", "d_ff", "ffn_hidden_size"},
      {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length"}};
  for (const auto& names : kSizes)
    if (std::find(names.begin(), names.end(), key) != names.end()) {
      std::vector<std::string_view> others = names;
      std::erase(others, key);
      return others;
    }
  return {};
}

bool ConfigKeys::has(std::string_view key) const {
  return object_.find(key) != nullptr;
}

const Node* ConfigKeys::value(std::string_view key) {
  read_.emplace(key);
  const json::Member* member = object_.find(key);
  return member == nullptr || member->value.is_null() ? nullptr : &member->value;
}

std::string_view ConfigKeys::spelled(std::span<const std::string_view> keys) {
  for (const std::string_view key : keys) read_.emplace(key);
  std::string_view there;
  for (const std::string_view key : keys) {
    const json::Member* member = object_.find(key);
    if (member == nullptr) continue;
    const json::Member* before = there.empty() ? nullptr : object_.find(there);
    // A null says nothing.
    if (before == nullptr || before->value.is_null()) {
      there = key;
    } else if (!member->value.is_null() && member->value.text != before->value.text) {
      found_
          .error("O0928", fmt::format("`{}` and `{}` are two names of one size, and disagree", there, key),
                 member->value.where)
          .label(member->value.text.substr(0, 24))
          .also(before->value.where, before->value.text.substr(0, 24))
          .hint("leave one of them out");
    }
  }
  return there.empty() ? *keys.begin() : there;
}

void ConfigKeys::know_all(std::span<const std::string_view> keys) {
  for (const std::string_view key : keys) read_.emplace(key);
}

void ConfigKeys::refuse_type(std::string_view key, std::string_view wanted, const Node& node) {
  found_.error("O0903", fmt::format("`{}` must be {}, but is {}", key, wanted, kind_of(node)), where(key))
      .label(std::string(wanted));
}

std::optional<Count> ConfigKeys::whole(std::string_view key, const Node& node, Count least) {
  Count value = 0;
  const char* end = node.text.data() + node.text.size();
  if (!node.is_number() || is_float(node)) {
    found_.error("O0903", fmt::format("`{}` must be a whole number, but is {}", key, kind_of(node)), where(key))
        .label(fmt::format("a whole number of {} or more", least))
        .hint(whole_text(node));
    return std::nullopt;
  }
  const auto [stop, wrong] = std::from_chars(node.text.data(), end, value);
  if (wrong != std::errc() || stop != end || value > kLargestSize) {
    found_
        .error("O0910", fmt::format("`{}` is {}, which is larger than any model's", key, node.text.substr(0, 24)),
               where(key))
        .label(fmt::format("at most {}", kLargestSize));
    return std::nullopt;
  }
  if (value >= least) return value;
  base::Diagnostic& error = found_.error(
      "O0910", fmt::format("`{}` must be {}, but is {}", key, least > 0 ? "positive" : "at least 0", value),
      where(key));
  error.label(fmt::format("at least {}", least));
  return std::nullopt;
}

Count ConfigKeys::lent(std::string_view key) const {
  if (lent_ != nullptr)
    for (const auto& [name, size] : *lent_)
      if (name == key) return size;
  return 0;
}

Count ConfigKeys::required(std::string_view key) {
  const Node* node = value(key);
  if (node == nullptr) {
    if (const Count size = lent(key); size > 0 && !another_type_) return size;
    missing_.emplace_back(key);
    return 0;
  }
  return whole(key, *node, 1).value_or(0);
}

// A size that the file does not have.
Count ConfigKeys::assumed(std::string_view key, Count absent) {
  if (own_ != nullptr && !another_type_)
    for (const auto& [name, size] : *own_)
      if (name == key) return size;
  if (!another_type_ || absent == 0) return absent;
  const bool decides = key.find("expert") != std::string_view::npos || key.ends_with("intermediate_size");
  if (decides)
    missing_.emplace_back(key);
  else if (absent > 1)  // 1 is as good as nothing
    assumed_.push_back(fmt::format("`{}` {}", key, absent));
  return absent;
}

// Of experts, null may stand for none as well as for what the class has.
void ConfigKeys::refuse_null(std::string_view key, Count absent) {
  const bool experts = key.find("expert") != std::string_view::npos || key.find("top_k") != std::string_view::npos ||
                       key.find("topk") != std::string_view::npos || key == "moe_intermediate_size";
  const json::Member* member = object_.find(key);
  if (!experts || key.find("group") != std::string_view::npos || absent == 0 || member == nullptr ||
      !member->value.is_null())
    return;
  read_.emplace(key);
  found_.error("O0903", fmt::format("`{}` must be a whole number, but is null", key), member->value.where)
      .label("a whole number")
      .hint("write the number, or leave the key out for what the family's class has");
}

Count ConfigKeys::size(std::string_view key, Count absent) {
  refuse_null(key, absent);
  return size(key, absent, absent);
}

Count ConfigKeys::size(std::string_view key, Count absent, Count null) {
  const Node* node = value(key);
  if (node == nullptr) return has(key) ? null : assumed(key, absent);
  return whole(key, *node, 1).value_or(absent);
}

std::optional<Count> ConfigKeys::optional_size(std::string_view key) {
  const Node* node = value(key);
  return node == nullptr ? std::nullopt : whole(key, *node, 1);
}

Count ConfigKeys::count(std::string_view key, Count absent) {
  refuse_null(key, absent);
  const Node* node = value(key);
  return node == nullptr ? assumed(key, absent) : whole(key, *node, 0).value_or(absent);
}

bool ConfigKeys::flag(std::string_view key, bool absent) {
  const Node* node = value(key);
  if (node == nullptr) return absent;
  if (node->kind == Node::Kind::kTruth) return node->truth;
  refuse_type(key, "true or false", *node);
  return absent;
}

double ConfigKeys::number(std::string_view key, double absent) {
  const Node* node = value(key);
  if (node == nullptr) return absent;
  if (node->is_number()) return node->number;
  refuse_type(key, "a number", *node);
  return absent;
}

std::string ConfigKeys::text(std::string_view key, std::string_view absent) {
  const Node* node = value(key);
  if (node == nullptr) return std::string(absent);
  if (node->is_text()) return node->text;
  refuse_type(key, "a text", *node);
  return std::string(absent);
}

std::vector<std::string> ConfigKeys::texts(std::string_view key) {
  std::vector<std::string> out;
  const Node* node = value(key);
  if (node == nullptr) return out;
  if (node->kind != Node::Kind::kList) {
    refuse_type(key, "a list of texts", *node);
    return out;
  }
  for (const Node& item : node->items) {
    if (!item.is_text()) {
      found_
          .error("O0903", fmt::format("`{}` must be a list of texts, but holds {}", key, json::describe(item)),
                 item.where)
          .label("each item is a text");
      return out;
    }
    out.push_back(item.text);
  }
  return out;
}

std::vector<Count> ConfigKeys::counts(std::string_view key) {
  std::vector<Count> out;
  const Node* node = value(key);
  if (node == nullptr) return out;
  if (node->kind != Node::Kind::kList) {
    refuse_type(key, "a list of whole numbers", *node);
    return out;
  }
  for (const Node& item : node->items) {
    const std::optional<Count> count = base::parse_number<Count>(item.text);
    if (!item.is_number() || !count) {
      found_
          .error("O0903", fmt::format("`{}` must be a list of whole numbers, but holds {}", key, kind_of(item)),
                 item.where)
          .label("each item is a whole number");
      return out;
    }
    out.push_back(*count);
  }
  return out;
}

// Of a missing size, one of other families' names that is there, and that nobody has read.
std::string_view ConfigKeys::another_name(std::string_view key) const {
  for (const std::string_view other : other_names(key))
    if (has(other) && !read_.contains(other)) return other;
  return {};
}

void ConfigKeys::report_missing(std::string_view family) {
  const auto once = [](std::vector<std::string>& keys) {
    std::vector<std::string> seen;
    for (std::string& key : keys)
      if (std::find(seen.begin(), seen.end(), key) == seen.end()) seen.push_back(std::move(key));
    keys = std::move(seen);
  };
  once(missing_);
  once(assumed_);
  if (missing_.empty() && !assumed_.empty())
    found_
        .warning("O0901",
                 fmt::format("sizes that the file lacks are those of `{}`: {}", family, base::joined(assumed_, ", ")),
                 whole_)
        .severity = base::Severity::kNote;
  if (missing_.empty()) return;
  base::Diagnostic& missing =
      found_.error("O0902",
                   fmt::format("{} missing from a config.json of type `{}`: `{}`",
                               missing_.size() == 1 ? "a key is" : fmt::format("{} keys are", missing_.size()), family,
                               base::joined(missing_, "`, `")),
                   whole_);
  std::vector<std::string> present;
  for (const json::Member& member : object_.members) present.push_back(member.key);
  for (const std::string& key : missing_)
    if (const json::Member* null = object_.find(key)) {
      missing.also(null->value.where, "null is the same as leaving the key out");
    } else if (const std::string_view other = another_name(key); !other.empty()) {
      missing.hint(fmt::format("is `{}` meant to be `{}`?", other, key)).also(key_where(other), "written here");
    } else if (const std::string near = base::closest(key, present); !near.empty() && near != key) {
      missing.hint(fmt::format("is `{}` meant to be `{}`?", near, key)).also(key_where(near), "written here");
    }
}

base::Location ConfigKeys::where(std::string_view key) const {
  const json::Member* member = object_.find(key);
  return member != nullptr ? member->value.where : whole_;
}

base::Location ConfigKeys::key_where(std::string_view key) const {
  const json::Member* member = object_.find(key);
  return member != nullptr ? member->key_where : whole_;
}

}  // namespace orrery::formats::huggingface
