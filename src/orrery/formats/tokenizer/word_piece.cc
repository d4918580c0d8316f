// WordPiece: the longest token that begins the word, then the longest `##token` that continues it, and so on; where
// none fits, the whole word is unknown. Source: google-research/bert, tokenization.py. Cost: the word's length times
// that of the longest token, both bounded; most words are found whole.
#include <algorithm>

#include "orrery/formats/tokenizer/models.h"

namespace orrery::formats::tokenizer {
namespace {

class WordPieceModel : public Model {
 public:
  WordPieceModel(std::shared_ptr<const Vocabulary> vocabulary, WordPiece how)
      : vocabulary_(std::move(vocabulary)), how_(std::move(how)) {}

  void tokenize(Word word, std::vector<Piece>& to) const override {
    const std::size_t before = to.size();
    if (word.size() > how_.most_characters || !tokenize_known(word, to)) {
      to.resize(before);
      to.push_back({how_.unknown, word.front().begin, word.back().end});
    }
  }

 private:
  bool tokenize_known(Word word, std::vector<Piece>& to) const {
    // `##` and the word; buffers stay, since words are short and many.
    thread_local std::string text, continued;
    thread_local std::vector<std::size_t> ends;
    text = how_.continuing;
    const std::size_t prefix = text.size();
    ends.assign(1, prefix);
    for (const Character& one : word) {
      append_utf8(one.code, text);
      ends.push_back(text.size());
    }
    for (std::size_t begin = 0; begin < word.size();) {
      std::string_view rest = std::string_view(text).substr(prefix);
      std::size_t skipped = prefix;
      if (begin > 0) {
        continued = how_.continuing;
        continued.append(text, ends[begin], vocabulary_->longest());
        rest = continued;
        skipped = ends[begin] - prefix;
      }
      // What is longer than any token is none.
      const std::size_t most = vocabulary_->longest() + skipped;
      std::size_t end = static_cast<std::size_t>(
          std::upper_bound(ends.begin() + static_cast<std::ptrdiff_t>(begin), ends.end(), most) - ends.begin() - 1);
      std::optional<Id> id;
      for (; end > begin; --end) {
        id = vocabulary_->find(rest.substr(0, ends[end] - skipped));
        if (id) break;
      }
      if (!id) return false;
      to.push_back({*id, word[begin].begin, word[end - 1].end});
      begin = end;
    }
    return true;
  }

  std::shared_ptr<const Vocabulary> vocabulary_;
  WordPiece how_;
};

}  // namespace

std::unique_ptr<Model> word_piece(std::shared_ptr<const Vocabulary> vocabulary, const WordPiece& how) {
  return std::make_unique<WordPieceModel>(std::move(vocabulary), how);
}

}  // namespace orrery::formats::tokenizer
