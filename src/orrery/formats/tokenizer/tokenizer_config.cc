#include "orrery/formats/tokenizer/tokenizer_config.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/base/text/text.h"

namespace orrery::formats::tokenizer {
namespace {

std::optional<Id> id_of(const std::string& text) {
  return base::parse_number<Id>(text, 0, std::numeric_limits<Id>::max());
}

bool flag(const json::Node& of, const char* key, bool otherwise) {
  const json::Member* const entry = of.find(key);
  return entry == nullptr || entry->value.kind != json::Node::Kind::kTruth ? otherwise : entry->value.truth;
}

// What `added_tokens_decoder` declares.
std::vector<AddedToken> declared(const Config& config, base::Diagnostics& found) {
  std::vector<AddedToken> out;
  const json::Node* const list = config.member("added_tokens_decoder");
  if (list == nullptr) return out;
  if (!list->is_object())
    found.error("O1623", fmt::format("`added_tokens_decoder` must be an object, and is {}", describe(*list)),
                list->where);
  for (const json::Member& entry : list->members) {
    const auto id = id_of(entry.key);
    const json::Member* const content = entry.value.find("content");
    if (!id || content == nullptr || !content->value.is_text() || content->value.text.empty()) {
      found.error("O1623", "a member of `added_tokens_decoder` must be an id with an object that has a `content`",
                  entry.key_where);
      continue;
    }
    AddedToken token{content->value.text, *id};
    token.special = flag(entry.value, "special", false);
    token.single_word = flag(entry.value, "single_word", false);
    token.lstrip = flag(entry.value, "lstrip", false);
    token.rstrip = flag(entry.value, "rstrip", false);
    token.normalized = flag(entry.value, "normalized", !token.special);
    out.push_back(token);
  }
  return out;
}

}  // namespace

Config::Config(const std::shared_ptr<const base::SourceFile>& file, base::Diagnostics& found) : found_(found) {
  if (file == nullptr) return;
  root_ = json::parse(file, "O1623");
  if (!root_.is_object())
    found_.error("O1623", fmt::format("an object must stand here, not {}", describe(root_)), root_.where);
}

const json::Node* Config::member(const char* key) const {
  const json::Member* const entry = root_.find(key);
  return entry == nullptr || entry->value.is_null() ? nullptr : &entry->value;
}

std::optional<bool> Config::truth(const char* key) const {
  const json::Node* const value = member(key);
  if (value == nullptr) return std::nullopt;
  if (value->kind == json::Node::Kind::kTruth) return value->truth;
  found_.error("O1623", fmt::format("`{}` must be true or false, and is {}", key, describe(*value)), value->where);
  return std::nullopt;
}

std::string Config::token(const char* key, const char* otherwise) const {
  const json::Node* const value = member(key);
  if (value == nullptr) return otherwise;
  const json::Member* const content = value->find("content");
  const json::Node& text = content != nullptr ? content->value : *value;
  if (text.is_text()) return text.text;
  found_.error("O1623", fmt::format("`{}` must be a token, and is {}", key, describe(text)), text.where);
  return otherwise;
}

std::optional<std::size_t> Config::most_tokens() const {
  const json::Node* const value = member("model_max_length");
  if (value == nullptr) return std::nullopt;
  if (!value->is_number() || !(value->number >= 1)) {
    found_.error("O1623", fmt::format("`model_max_length` must be a length, and is {}", describe(*value)),
                 value->where);
    return std::nullopt;
  }
  const auto whole = value->number < 1e9 ? base::whole_number(value->number) : std::nullopt;
  return whole ? std::optional(static_cast<std::size_t>(*whole)) : std::nullopt;
}

std::vector<Id> add_special(const std::vector<Special>& wanted, const Config& config, const Vocabulary& vocabulary,
                            const base::Location& where, base::Diagnostics& found, std::vector<AddedToken>& to) {
  std::vector<Id> ids;
  std::set<Id> added;
  for (const Special& special : wanted) {
    const std::string name = config.token(special.key, special.name);
    const std::optional<Id> id = vocabulary.find(name);
    ids.push_back(id.value_or(0));
    if (!id && special.needed)
      found.error("O1621", fmt::format("the vocabulary lacks the special token `{}`", name), where)
          .hint(fmt::format("`{}` in tokenizer_config.json names another", special.key));
    if (id && added.insert(*id).second) to.push_back({name, *id, false, special.lstrip, false, false, true});
  }
  return ids;
}

void add_declared(const Config& config, const Vocabulary& vocabulary, base::Diagnostics& found,
                  std::vector<AddedToken>& to) {
  for (const AddedToken& token : declared(config, found)) {
    const auto same = [&](const AddedToken& other) { return other.content == token.content; };
    if (const auto there = std::find_if(to.begin(), to.end(), same); there != to.end()) {
      if (there->id != token.id)
        found.error("O1621",
                    fmt::format("`{}` has the id {} in the vocabulary and {} in tokenizer_config.json", token.content,
                                there->id, token.id),
                    config.member("added_tokens_decoder")->where);
      *there = token;
      continue;
    }
    if (vocabulary.find(token.content).value_or(token.id) != token.id)
      found.error("O1621",
                  fmt::format("`{}` has the id {} in the vocabulary and {} in tokenizer_config.json", token.content,
                              *vocabulary.find(token.content), token.id),
                  config.member("added_tokens_decoder")->where);
    to.push_back(token);
  }
}

void compare_with(const Description& is, const Config& config, base::Diagnostics& found) {
  const auto compare = [&](const char* key, std::optional<bool> own) {
    const std::optional<bool> told = config.truth(key);
    if (told && own && *told != *own)
      found.warning(
          "O1627",
          fmt::format("`{}` is {} in tokenizer_config.json, and not so in tokenizer.json, which counts", key, *told),
          config.member(key)->where);
  };
  if (is.normalizer) {
    compare("do_lower_case", is.normalizer->lowercase);
    compare("strip_accents", is.normalizer->strip_accents);
    compare("tokenize_chinese_chars", is.normalizer->handle_chinese_chars);
  }
  if (is.byte_level) compare("add_prefix_space", is.add_prefix_space);
  std::vector<std::string> lacking;
  for (const AddedToken& token : declared(config, found)) {
    const bool there = std::any_of(is.added.begin(), is.added.end(),
                                   [&](const AddedToken& other) { return other.content == token.content; });
    if (!there) lacking.push_back(token.content);
  }
  if (!lacking.empty())
    found.warning("O1627",
                  fmt::format("tokenizer_config.json adds tokens that tokenizer.json, which counts, does not: `{}`",
                              base::joined(lacking, "`, `")),
                  config.member("added_tokens_decoder")->where);
}

}  // namespace orrery::formats::tokenizer
