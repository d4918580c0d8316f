// Which file a model's tokenizer is, and what BERT's and GPT-2's own files leave to be known: their special tokens, and
// what stands around a text.
#include "orrery/formats/tokenizer/tokenizer_reader.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "orrery/base/text/text_file.h"
#include "orrery/formats/tokenizer/tokenizer_config.h"
#include "orrery/formats/tokenizer/vocabulary_reader.h"

namespace orrery::formats::tokenizer {

namespace fs = std::filesystem;

File optional_file(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) ? base::read_file(path) : nullptr;
}

Tokenizer read_word_piece(const File& vocabulary, const File& config_file, base::Diagnostics& warnings) {
  base::Diagnostics found;
  const Config config(config_file, found);
  const base::Location whole{vocabulary, 0, 0};
  Description is;
  const auto tokens = read_vocabulary_lines(vocabulary, found);
  const std::vector<Id> ids = add_special({{"unk_token", "[UNK]", true},
                                           {"cls_token", "[CLS]", true},
                                           {"sep_token", "[SEP]", true},
                                           {"pad_token", "[PAD]", false},
                                           {"mask_token", "[MASK]", false}},
                                          config, *tokens, whole, found, is.added);
  if (!config.truth("do_basic_tokenize").value_or(true))
    found.error("O1624", "`do_basic_tokenize` false is not supported: texts are split into BERT's words", whole);
  const bool lower = config.truth("do_lower_case").value_or(true);
  is.normalizer = BertNormalizer{true, config.truth("tokenize_chinese_chars").value_or(true),
                                 config.truth("strip_accents").value_or(lower), lower};
  add_declared(config, *tokens, found, is.added);
  is.most_tokens = config.most_tokens();
  is.mask = config.token("mask_token", "");
  found.throw_if_errors();
  is.vocabulary = tokens;
  is.model = word_piece(tokens, {ids[0]});
  const TemplateItem cls{-1, ids[1], 0}, sep{-1, ids[2], 0};
  is.single = {cls, {0, 0, 0}, sep};
  is.pair = {cls, {0, 0, 0}, sep, {1, 0, 1}, {-1, ids[2], 1}};
  warnings.append(found);
  return Tokenizer(std::move(is));
}

Tokenizer read_byte_pairs(const File& vocabulary, const File& merges_file, const File& config_file,
                          base::Diagnostics& warnings) {
  base::Diagnostics found;
  const Config config(config_file, found);
  const base::Location whole{vocabulary, 0, 0};
  Description is;
  const auto tokens = read_vocabulary(json::parse(vocabulary, "O1621"), found);
  std::vector<Merge> merges;
  std::set<std::pair<Id, Id>> seen;
  std::string_view rest = merges_file->text;
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty() || line.rfind("#version", 0) == 0) continue;
    const base::Location where{merges_file, number, 1, static_cast<int>(line.size())};
    if (const auto merge = merge_line(line, *tokens, where, found)) {
      if (!seen.emplace(merge->left, merge->right).second) found.error("O1622", "this merge stands twice", where);
      merges.push_back(*merge);
    }
  }
  is.byte_level = true;
  is.add_prefix_space = is.trimmed_prefix_space = config.truth("add_prefix_space").value_or(false);
  // RoBERTa and BART have a beginning and an end of texts; GPT-2 has one token that ends them, and adds none.
  const bool roberta = tokens->find("<s>") && tokens->find("</s>");
  if (roberta) {
    const std::vector<Id> ids = add_special({{"cls_token", "<s>", true},
                                             {"sep_token", "</s>", true},
                                             {"bos_token", "<s>", false},
                                             {"eos_token", "</s>", false},
                                             {"unk_token", "<unk>", false},
                                             {"pad_token", "<pad>", false},
                                             {"mask_token", "<mask>", false, true}},
                                            config, *tokens, whole, found, is.added);
    const TemplateItem begin{-1, ids[0], 0}, end{-1, ids[1], 0};
    is.single = {begin, {0, 0, 0}, end};
    is.pair = {begin, {0, 0, 0}, end, end, {1, 0, 0}, end};
    is.trim_offsets = true;
  } else {
    add_special({{"eos_token", "<|endoftext|>", false},
                 {"bos_token", "<|endoftext|>", false},
                 {"unk_token", "<|endoftext|>", false},
                 {"pad_token", "<|endoftext|>", false}},
                config, *tokens, whole, found, is.added);
  }
  add_declared(config, *tokens, found, is.added);
  is.most_tokens = config.most_tokens();
  is.mask = config.token("mask_token", "");
  check_bytes(*tokens, whole, found);
  found.throw_if_errors();
  is.vocabulary = tokens;
  is.model = byte_pairs(tokens, merges, std::nullopt);
  warnings.append(found);
  return Tokenizer(std::move(is));
}

Tokenizer read_tokenizer(const std::string& path, base::Diagnostics& warnings) {
  std::error_code ignored;
  fs::path file = path;
  if (fs::is_directory(file, ignored)) {
    constexpr std::array kNames{"tokenizer.json", "vocab.txt", "vocab.json", "spiece.model", "tokenizer.model"};
    const auto there = std::find_if(kNames.begin(), kNames.end(),
                                    [&](const char* name) { return fs::exists(fs::path(path) / name, ignored); });
    if (there == kNames.end())
      base::fail("O1620", fmt::format("the folder `{}` holds no tokenizer", path),
                 {std::make_shared<const base::SourceFile>(base::SourceFile{path, {}}), 0, 0},
                 "one of tokenizer.json, vocab.txt, vocab.json with merges.txt, spiece.model must stand in it");
    file /= *there;
  }
  const fs::path config = file.parent_path() / "tokenizer_config.json";
  if (file.extension() == ".model") return read_sentence_piece(file.string(), warnings);
  if (file.extension() == ".txt")
    return read_word_piece(base::read_file(file.string()), optional_file(config.string()), warnings);
  if (file.filename() == "vocab.json")
    return read_byte_pairs(base::read_file(file.string()),
                           base::read_file((file.parent_path() / "merges.txt").string()),
                           optional_file(config.string()), warnings);
  return read_tokenizer_json(base::read_file(file.string()), optional_file(config.string()), warnings);
}

}  // namespace orrery::formats::tokenizer
