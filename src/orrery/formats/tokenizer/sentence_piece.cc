// SentencePiece's models: text is one sequence in which blanks are characters, and the library says what pieces it is
// made of (unigrams: those of the largest sum of scores; byte pairs; words; characters) and where they stood. What the
// originals do before and around it is done here, known by the special pieces that the model has:
//   [CLS], [SEP]   ALBERT: [CLS] A [SEP] B [SEP]; quotes made alike, marks off, lower case
//   <cls>, <sep>   XLNet: A <sep> B <sep> <cls>; the same without lower case
//   <s>, </s>      LLaMA: <s> A <s> B
//   </s>           T5: A </s> B </s>, and a hundred <extra_id_N> behind the model's pieces
// Sources: the tokenizers' classes in Hugging Face's transformers; google/sentencepiece. Cost: the library's.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/base/text/mapped_file.h"
#include "orrery/formats/tokenizer/sentence_piece_file.h"
#include "orrery/formats/tokenizer/sentence_piece_library.h"
#include "orrery/formats/tokenizer/tokenizer_config.h"
#include "orrery/formats/tokenizer/tokenizer_reader.h"

namespace orrery::formats::tokenizer {
namespace {

class SentencePiece : public Model {
 public:
  SentencePiece(std::string_view model, const base::Location& where) : library_(model, where) {}

  void tokenize(Word word, std::vector<Piece>& to) const override {
    std::string text;
    std::vector<std::size_t> begins;  // of each character in `text`
    for (const Character& one : word) {
      begins.push_back(text.size());
      append_utf8(one.code, text);
    }
    begins.push_back(text.size());
    // The character whose bytes hold `byte`; the places of pieces do not go back, but their bytes may lie in one
    // character.
    const auto character = [&](std::size_t byte) {
      return static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), byte) - begins.begin()) - 1;
    };
    for (const SentencePieceLibrary::Piece& piece : library_.encode(text)) {
      const std::size_t begin = std::min(character(piece.begin), word.size() - 1);
      const std::size_t last = piece.end > piece.begin ? character(piece.end - 1) : begin;
      const std::uint32_t from = piece.begin < text.size() ? word[begin].begin : word.back().end;
      to.push_back({piece.id, from, piece.end > piece.begin ? std::max(from, word[last].end) : from});
    }
  }

  std::string decode(const std::vector<Id>& ids) const override { return library_.decode(ids); }

 private:
  SentencePieceLibrary library_;
};

// T5's hundred pieces for what was cut out of a text, the last first, where the model's own do not have them.
void add_extra_ids(const Config& config, Vocabulary& vocabulary, std::size_t pieces, base::Diagnostics& found,
                   std::vector<AddedToken>& to) {
  constexpr std::size_t kUsual = 100, kMost = 100'000;
  std::size_t count = kUsual;
  if (const json::Node* const told = config.member("extra_ids")) {
    if (!told->is_number() || !(told->number >= 0 && told->number <= kMost)) {
      found.error("O1623", fmt::format("`extra_ids` must be a count up to {}, and is {}", kMost, describe(*told)),
                  told->where);
      return;
    }
    count = static_cast<std::size_t>(base::whole_number(told->number).value_or(0));
  }
  if (vocabulary.find("<extra_id_0>")) return;
  for (std::size_t i = 0; i < count; ++i) {
    const AddedToken token{
        fmt::format("<extra_id_{}>", i), static_cast<Id>(pieces + count - 1 - i), false, false, false, false, true};
    vocabulary.add(token.content, token.id);
    to.push_back(token);
  }
}

}  // namespace

Tokenizer read_sentence_piece(const std::string& name, std::string_view bytes, const File& config_file,
                              base::Diagnostics& warnings) {
  base::Diagnostics found;
  const Config config(config_file, found);
  const base::Location whole{std::make_shared<const base::SourceFile>(base::SourceFile{name, {}}), 0, 0};
  const SentencePieces file = read_sentence_pieces(bytes, whole, found);
  found.throw_if_errors();
  auto vocabulary = std::make_shared<Vocabulary>();
  Description is;
  for (std::size_t i = 0; i < file.pieces.size(); ++i) vocabulary->add(file.pieces[i].text, static_cast<Id>(i));
  const auto has = [&](const char* key, const char* usual) {
    return vocabulary->find(config.token(key, usual)).has_value();
  };
  is.whole_texts = true;
  const auto special = [&](std::initializer_list<Special> wanted) {
    return add_special(wanted, config, *vocabulary, whole, found, is.added);
  };
  const TemplateItem a{0, 0, 0}, b{1, 0, 1}, same_b{1, 0, 0};
  const bool albert = has("cls_token", "[CLS]") && has("sep_token", "[SEP]");
  const bool xlnet = !albert && has("cls_token", "<cls>") && has("sep_token", "<sep>");
  if (albert || xlnet) {
    const std::vector<Id> ids = albert ? special({{"cls_token", "[CLS]", true},
                                                  {"sep_token", "[SEP]", true},
                                                  {"pad_token", "<pad>", false},
                                                  {"mask_token", "[MASK]", false, true}})
                                       : special({{"cls_token", "<cls>", true},
                                                  {"sep_token", "<sep>", true},
                                                  {"pad_token", "<pad>", false},
                                                  {"mask_token", "<mask>", false, true},
                                                  {"bos_token", "<s>", false},
                                                  {"eos_token", "</s>", false}});
    is.plain =
        PlainText{true, !config.truth("keep_accents").value_or(false), config.truth("do_lower_case").value_or(albert)};
    const TemplateItem cls{-1, ids[0], albert ? 0 : 2}, sep{-1, ids[1], 0}, sep_b{-1, ids[1], 1};
    is.single = albert ? std::vector<TemplateItem>{cls, a, sep} : std::vector<TemplateItem>{a, sep, cls};
    is.pair =
        albert ? std::vector<TemplateItem>{cls, a, sep, b, sep_b} : std::vector<TemplateItem>{a, sep, b, sep_b, cls};
  } else {
    const bool begins = has("bos_token", "<s>"), ends = has("eos_token", "</s>");
    const std::vector<Id> ids = special({{"bos_token", "<s>", false},
                                         {"eos_token", "</s>", false},
                                         {"pad_token", "<pad>", false},
                                         {"unk_token", "<unk>", false}});
    const TemplateItem bos{-1, ids[0], 0}, eos{-1, ids[1], 0};
    is.single.clear(), is.pair.clear();
    for (const TemplateItem& text : {a, same_b}) {
      if (begins && config.truth("add_bos_token").value_or(true)) is.pair.push_back(bos);
      is.pair.push_back(text);
      if (ends && config.truth("add_eos_token").value_or(!begins)) is.pair.push_back(eos);
      if (text.sequence == 0) is.single = is.pair;
    }
    if (ends && !begins) add_extra_ids(config, *vocabulary, file.pieces.size(), found, is.added);
  }
  add_declared(config, *vocabulary, found, is.added);
  is.most_tokens = config.most_tokens();
  is.mask = config.token("mask_token", "");
  found.throw_if_errors();
  is.vocabulary = std::move(vocabulary);
  is.model = std::make_unique<SentencePiece>(bytes, whole);
  warnings.append(found);
  return Tokenizer(std::move(is));
}

Tokenizer read_sentence_piece(const std::string& path, base::Diagnostics& warnings) {
  namespace fs = std::filesystem;
  const base::MappedFile file(path);
  const fs::path config = fs::path(path).parent_path() / "tokenizer_config.json";
  return read_sentence_piece(path, file.bytes(), optional_file(config.string()), warnings);
}

}  // namespace orrery::formats::tokenizer
