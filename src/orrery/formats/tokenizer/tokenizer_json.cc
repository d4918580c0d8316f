// tokenizer.json: the parts of a tokenizer by their type's name. Parts of other names are refused by name: what they
// would do to a text is not done, and ids would be wrong without a trace. Source: what Hugging Face's tokenizers write.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/formats/tokenizer/tokenizer_config.h"
#include "orrery/formats/tokenizer/tokenizer_reader.h"
#include "orrery/formats/tokenizer/vocabulary_reader.h"

namespace orrery::formats::tokenizer {
namespace {

using json::Node;
using Kind = Node::Kind;

constexpr std::size_t kMostInTemplate = 1024;
constexpr std::int64_t kMostInWord = 1000;  // what a word costs grows with the square of it

class JsonReader {
 public:
  explicit JsonReader(base::Diagnostics& found) : found_(found) {}

  Description read(const Node& root);

 private:
  // --- members
  // ---------------------------------------------------------------------------------------------------------
  void wrong(const Node& node, const std::string& what) {
    found_.error("O1623", fmt::format("{} must stand here, and it is {}", what, describe(node)), node.where);
  }
  // Null: absent, or null.
  const Node* member(const Node& of, const char* key) {
    const json::Member* const found = of.find(key);
    return found == nullptr || found->value.is_null() ? nullptr : &found->value;
  }
  bool truth(const Node& of, const char* key, bool otherwise) {
    const Node* const node = member(of, key);
    if (node == nullptr) return otherwise;
    if (node->kind != Kind::kTruth) wrong(*node, fmt::format("`{}`, true or false,", key));
    return node->truth;
  }
  std::string text(const Node& of, const char* key, const std::string& otherwise) {
    const Node* const node = member(of, key);
    if (node == nullptr) return otherwise;
    if (!node->is_text()) wrong(*node, fmt::format("`{}`, a text,", key));
    return node->text;
  }
  std::optional<std::int64_t> count(const Node& node) {
    const auto value = node.is_number() ? base::whole_number(node.number) : std::nullopt;
    if (value && *value >= 0 && *value <= std::numeric_limits<Id>::max() && static_cast<double>(*value) == node.number)
      return value;
    wrong(node, "a count below 2^31");
    return std::nullopt;
  }
  std::int64_t count(const Node& of, const char* key, std::int64_t otherwise) {
    const Node* const node = member(of, key);
    return node == nullptr ? otherwise : count(*node).value_or(otherwise);
  }
  Id id(const Node& of, const char* key) {
    const Node* const node = member(of, key);
    if (node == nullptr) {
      found_.error("O1623", fmt::format("`{}` is missing", key), of.where);
      return 0;
    }
    return static_cast<Id>(count(*node).value_or(0));
  }
  // Keys besides these are warned about.
  void only(const Node& of, std::initializer_list<std::string_view> keys) {
    for (const json::Member& entry : of.members)
      if (std::find(keys.begin(), keys.end(), entry.key) == keys.end() && entry.key != "type")
        found_.warning("O1627", fmt::format("`{}` is not known, and not applied", entry.key), entry.key_where);
    for (const json::Repeated& twice : json::repeated(of))
      found_.error("O1623", fmt::format("`{}` stands twice", twice.last->key), twice.last->key_where);
  }
  void must_be_absent(const Node& of, const char* key) {
    const Node* const node = member(of, key);
    if (node == nullptr || (node->is_text() && node->text.empty()) || (node->kind == Kind::kTruth && !node->truth))
      return;
    found_.error("O1624", fmt::format("`{}` is not supported; it is {}", key, describe(*node)), node->where);
  }
  void unknown_part(const Node& part, const char* what, const std::string& type, const char* known) {
    const json::Member* const entry = part.find("type");
    found_
        .error("O1624", fmt::format("the {} `{}` is not supported", what, type),
               entry != nullptr ? entry->value.where : part.where)
        .hint(fmt::format("these are: {}", known));
  }

  // --- parts
  // -----------------------------------------------------------------------------------------------------------
  void normalizer(const Node& part);
  void pre_tokenizer(const Node& part);
  void post_processor(const Node& part);
  void decoder(const Node& part);
  void model(const Node& part);
  void merges(const Node& list, std::optional<Id> unknown);
  void added(const Node& list);
  void truncation(const Node& part);
  std::vector<TemplateItem> items(const Node& of, const char* key, const Node& tokens);
  // A pair of a token and its id.
  TemplateItem named(const Node& of, const char* key);

  base::Diagnostics& found_;
  Description is_;
  std::shared_ptr<Vocabulary> vocabulary_;
  bool bert_words_ = false;
};

void JsonReader::normalizer(const Node& part) {
  const std::string type = text(part, "type", "");
  const Node* const list = member(part, "normalizers");
  if (type == "Sequence" && list != nullptr && list->items.size() == 1) return normalizer(list->items[0]);
  if (type != "BertNormalizer") return unknown_part(part, "normalizer", type, "BertNormalizer");
  only(part, {"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
  BertNormalizer how;
  how.clean_text = truth(part, "clean_text", true);
  how.handle_chinese_chars = truth(part, "handle_chinese_chars", true);
  how.lowercase = truth(part, "lowercase", true);
  how.strip_accents = truth(part, "strip_accents", how.lowercase);
  is_.normalizer = how;
}

void JsonReader::pre_tokenizer(const Node& part) {
  const std::string type = text(part, "type", "");
  const Node* const list = member(part, "pretokenizers");
  if (type == "Sequence" && list != nullptr && list->items.size() == 1) return pre_tokenizer(list->items[0]);
  if (type == "BertPreTokenizer") {
    bert_words_ = true;
    return only(part, {});
  }
  if (type != "ByteLevel") return unknown_part(part, "pre-tokenizer", type, "BertPreTokenizer, ByteLevel");
  only(part, {"add_prefix_space", "trim_offsets", "use_regex"});
  is_.byte_level = true;
  is_.add_prefix_space = truth(part, "add_prefix_space", true);
  truth(part, "trim_offsets", true);  // the post-processor's counts
  if (!truth(part, "use_regex", true)) found_.error("O1624", "`use_regex` false is not supported", part.where);
}

TemplateItem JsonReader::named(const Node& of, const char* key) {
  const Node* const pair = member(of, key);
  if (pair == nullptr || pair->items.size() != 2 || !pair->items[0].is_text()) {
    found_.error("O1623", fmt::format("`{}` must be a list of a token and its id", key),
                 pair != nullptr ? pair->where : of.where);
    return {};
  }
  return {-1, static_cast<Id>(count(pair->items[1]).value_or(0)), 0};
}

std::vector<TemplateItem> JsonReader::items(const Node& of, const char* key, const Node& tokens) {
  std::vector<TemplateItem> out;
  const Node* const list = member(of, key);
  if (list == nullptr || list->kind != Kind::kList || list->items.size() > kMostInTemplate) {
    found_.error("O1623", fmt::format("`{}` must be a list of at most {} parts", key, kMostInTemplate), of.where);
    return out;
  }
  std::set<int> sequences;
  for (const Node& item : list->items) {
    const Node* const sequence = member(item, "Sequence");
    const Node* const special = member(item, "SpecialToken");
    if ((sequence == nullptr) == (special == nullptr)) {
      wrong(item, "a `Sequence` or a `SpecialToken`");
      continue;
    }
    const Node& part = sequence != nullptr ? *sequence : *special;
    only(part, {"id", "type_id"});
    const int type = static_cast<int>(count(part, "type_id", 0));
    const std::string name = text(part, "id", "");
    if (sequence != nullptr) {
      const int which = name == "A" ? 0 : name == "B" ? 1 : -1;
      if (which < 0 || !sequences.insert(which).second)
        found_.error("O1623", fmt::format("`{}` cannot stand here: write A and, for pairs, B, each once", name),
                     part.where);
      else
        out.push_back({which, 0, type});
      continue;
    }
    const json::Member* const entry = tokens.find(name);
    const Node* const ids = entry != nullptr ? member(entry->value, "ids") : nullptr;
    if (ids == nullptr || ids->items.size() > kMostInTemplate) {
      found_.error("O1623", fmt::format("`special_tokens` has no ids of `{}`", name), part.where);
      continue;
    }
    for (const Node& number : ids->items) out.push_back({-1, static_cast<Id>(count(number).value_or(0)), type});
  }
  if (!sequences.count(0) || (std::string_view(key) == "pair") != (sequences.count(1) > 0))
    found_.error("O1623", fmt::format("`{}` must hold each of its texts once", key), list->where);
  return out;
}

void JsonReader::post_processor(const Node& part) {
  const std::string type = text(part, "type", "");
  if (type == "Sequence") {
    only(part, {"processors"});
    const Node* const list = member(part, "processors");
    if (list == nullptr || list->items.size() > 2)
      return unknown_part(part, "post-processor", "Sequence", "sequences of at most two");
    for (const Node& one : list->items) {
      if (text(one, "type", "") == "Sequence")
        return unknown_part(one, "post-processor", "Sequence", "no sequence in another");
      post_processor(one);
    }
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    const TemplateItem cls = named(part, "cls"), sep = named(part, "sep");
    is_.single = {cls, {0, 0, 0}, sep};
    if (type == "BertProcessing") {
      only(part, {"cls", "sep"});
      is_.pair = {cls, {0, 0, 0}, sep, {1, 0, 1}, {-1, sep.id, 1}};
    } else {
      only(part, {"cls", "sep", "trim_offsets", "add_prefix_space"});
      is_.pair = {cls, {0, 0, 0}, sep, sep, {1, 0, 0}, sep};
      is_.trim_offsets = truth(part, "trim_offsets", true);
      is_.trimmed_prefix_space = truth(part, "add_prefix_space", true);
    }
  } else if (type == "ByteLevel") {
    only(part, {"add_prefix_space", "trim_offsets", "use_regex"});
    is_.trim_offsets = truth(part, "trim_offsets", true);
    is_.trimmed_prefix_space = truth(part, "add_prefix_space", true);
  } else if (type == "TemplateProcessing") {
    only(part, {"single", "pair", "special_tokens"});
    const Node none;
    const Node* const tokens = member(part, "special_tokens");
    is_.single = items(part, "single", tokens != nullptr ? *tokens : none);
    is_.pair = items(part, "pair", tokens != nullptr ? *tokens : none);
  } else {
    unknown_part(part, "post-processor", type,
                 "BertProcessing, RobertaProcessing, ByteLevel, TemplateProcessing, Sequence");
  }
}

void JsonReader::decoder(const Node& part) {
  const std::string type = text(part, "type", "");
  if (type == "WordPiece" && !is_.byte_level) {
    only(part, {"prefix", "cleanup"});
    is_.continuing = text(part, "prefix", "##");
    is_.clean_up = truth(part, "cleanup", true);
  } else if (type == "ByteLevel" && is_.byte_level) {
    only(part, {"add_prefix_space", "trim_offsets", "use_regex"});
  } else {
    unknown_part(part, "decoder", type, "WordPiece, ByteLevel, each with a model of its kind");
  }
}

void JsonReader::merges(const Node& list, std::optional<Id> unknown) {
  std::vector<Merge> merges;
  std::set<std::pair<Id, Id>> seen;
  for (const Node& item : list.items) {
    std::optional<Merge> merge;
    if (item.is_text())
      merge = merge_line(item.text, *vocabulary_, item.where, found_);
    else if (item.items.size() == 2 && item.items[0].is_text() && item.items[1].is_text())
      merge = merge_of(item.items[0].text, item.items[1].text, *vocabulary_, item.where, found_);
    else
      found_.error("O1622", fmt::format("a merge is a text or a list of two, and this is {}", describe(item)),
                   item.where);
    if (!merge) continue;
    if (!seen.emplace(merge->left, merge->right).second) found_.error("O1622", "this merge stands twice", item.where);
    merges.push_back(*merge);
  }
  is_.model = byte_pairs(vocabulary_, merges, unknown);
}

void JsonReader::model(const Node& part) {
  const Node* const list = member(part, "merges");
  const std::string type = text(part, "type", list != nullptr ? "BPE" : "WordPiece");
  if (type != "BPE" && type != "WordPiece") return unknown_part(part, "model", type, "WordPiece, BPE");
  const Node* const tokens = member(part, "vocab");
  if (tokens == nullptr) {
    found_.error("O1621", "the model has no `vocab`", part.where);
    return;
  }
  vocabulary_ = read_vocabulary(*tokens, found_);
  is_.vocabulary = vocabulary_;
  const Node* const unknown = member(part, "unk_token");
  const std::string name = text(part, "unk_token", "[UNK]");
  const std::optional<Id> unknown_id = vocabulary_->find(name);
  if (!unknown_id && (unknown != nullptr || type == "WordPiece"))
    found_.error("O1621", fmt::format("the vocabulary lacks the token `{}` for what is unknown", name), part.where);
  if (type == "WordPiece") {
    only(part, {"unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"});
    is_.continuing = text(part, "continuing_subword_prefix", "##");
    const std::int64_t most = count(part, "max_input_chars_per_word", 100);
    if (most > kMostInWord)
      found_.error(
          "O1624",
          fmt::format("words of {} characters are not supported; at most {} are taken apart", most, kMostInWord),
          member(part, "max_input_chars_per_word")->where);
    is_.model = word_piece(vocabulary_, {unknown_id.value_or(0), is_.continuing, static_cast<std::size_t>(most)});
    if (is_.byte_level || !bert_words_)
      found_.error("O1624", "a WordPiece model is supported with the pre-tokenizer BertPreTokenizer only", part.where);
    return;
  }
  only(part, {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
              "ignore_merges", "vocab", "merges"});
  for (const char* const key :
       {"dropout", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges"})
    must_be_absent(part, key);
  if (!is_.byte_level)
    found_.error("O1624", "a BPE model is supported with the pre-tokenizer ByteLevel only", part.where);
  if (list == nullptr || list->kind != Kind::kList)
    found_.error("O1622", "the model has no list of `merges`", part.where);
  else
    merges(*list, unknown != nullptr ? unknown_id : std::nullopt);
  if (unknown == nullptr) check_bytes(*vocabulary_, tokens->where, found_);
}

void JsonReader::added(const Node& list) {
  if (list.kind != Kind::kList) return wrong(list, "a list of tokens");
  std::map<Id, std::string> named;
  for (const Node& item : list.items) {
    only(item, {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    AddedToken token{text(item, "content", ""), id(item, "id")};
    token.special = truth(item, "special", false);
    token.single_word = truth(item, "single_word", false);
    token.lstrip = truth(item, "lstrip", false);
    token.rstrip = truth(item, "rstrip", false);
    token.normalized = truth(item, "normalized", !token.special);
    if (token.content.empty())
      found_.error("O1623", "an added token is empty", item.where);
    else if (vocabulary_ != nullptr && vocabulary_->find(token.content).value_or(token.id) != token.id)
      found_.error("O1621",
                   fmt::format("`{}` has the id {} here and {} in the vocabulary", token.content, token.id,
                               *vocabulary_->find(token.content)),
                   item.where);
    if (const auto [first, fresh] = named.emplace(token.id, token.content); !fresh && first->second != token.content)
      found_.error("O1621", fmt::format("`{}` and `{}` have the same id, {}", first->second, token.content, token.id),
                   item.where);
    is_.added.push_back(token);
  }
}

void JsonReader::truncation(const Node& part) {
  only(part, {"direction", "max_length", "strategy", "stride"});
  const std::string strategy = text(part, "strategy", "LongestFirst");
  if (text(part, "direction", "Right") != "Right")
    found_.error("O1624", "`truncation` from the left is not supported", part.where);
  is_.limits.truncate = strategy == "OnlyFirst"    ? Truncate::kOnlyFirst
                        : strategy == "OnlySecond" ? Truncate::kOnlySecond
                                                   : Truncate::kLongestFirst;
  if (strategy != "LongestFirst" && is_.limits.truncate == Truncate::kLongestFirst)
    found_.error("O1624", fmt::format("the truncation `{}` is not supported", strategy), part.where);
  is_.limits.most_tokens = static_cast<std::size_t>(count(part, "max_length", 512));
  is_.limits.stride = static_cast<std::size_t>(count(part, "stride", 0));
}

Description JsonReader::read(const Node& root) {
  if (!root.is_object()) {
    wrong(root, "an object");
    return {};
  }
  only(root, {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
              "decoder", "model"});
  if (const Node* const part = member(root, "normalizer")) normalizer(*part);
  if (const Node* const part = member(root, "pre_tokenizer")) pre_tokenizer(*part);
  if (const Node* const part = member(root, "model"))
    model(*part);
  else
    found_.error("O1623", "`model` is missing", root.where);
  if (const Node* const part = member(root, "decoder")) decoder(*part);
  if (const Node* const part = member(root, "post_processor")) post_processor(*part);
  if (const Node* const list = member(root, "added_tokens")) added(*list);
  if (const Node* const part = member(root, "truncation")) truncation(*part);
  if (const Node* const part = member(root, "padding"))
    found_.warning("O1627", "`padding` is not applied: texts keep their lengths", part->where);
  return std::move(is_);
}

}  // namespace

Tokenizer read_tokenizer_json(const File& file, const File& config_file, base::Diagnostics& warnings) {
  base::Diagnostics found;
  Description is = JsonReader(found).read(json::parse(file, "O1623"));
  const Config config(config_file, found);
  compare_with(is, config, found);
  is.most_tokens = config.most_tokens();
  is.mask = config.token("mask_token", "");
  found.throw_if_errors();
  warnings.append(found);
  return Tokenizer(std::move(is));
}

}  // namespace orrery::formats::tokenizer
