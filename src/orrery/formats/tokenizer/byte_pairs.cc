// Byte pair encoding: a word begins as its bytes; of all neighbours that may be merged, the pair that stands first in
// the list of merges is, the leftmost of equals, until none may. Each byte is written as a character of its own: the
// 188 that are visible in Latin-1 as themselves, the others from U+0100 on. Source: openai/gpt-2, encoder.py.
//
// The tokens form a linked list; a heap holds the pairs that may be merged, and entries whose tokens have changed since
// are dropped when they come up. Cost: n log n in the word's bytes. A short word is scanned instead, which is faster.
#include <algorithm>
#include <array>
#include <queue>

#include "orrery/formats/tokenizer/models.h"

namespace orrery::formats::tokenizer {
namespace {

struct ByteTable {
  std::array<std::uint16_t, 256> character{};
  std::array<std::int16_t, 512> byte{};

  ByteTable() {
    byte.fill(-1);
    unsigned next = 256;
    for (unsigned i = 0; i < 256; ++i) {
      const bool visible = (i >= 33 && i <= 126) || (i >= 161 && i <= 172) || i >= 174;
      character[i] = static_cast<std::uint16_t>(visible ? i : next++);
      byte[character[i]] = static_cast<std::int16_t>(i);
    }
  }
};

const ByteTable& bytes() {
  static const ByteTable table;
  return table;
}

struct Symbol {
  Id id = 0;
  std::int32_t previous = -1, next = -1;
  std::uint32_t begin = 0, end = 0;
};

struct Found {
  std::int32_t rank = 0;
  Id made = 0;
};

// Merges by their pair, in one block with open addressing: looking up is most of the work.
class MergeTable {
 public:
  explicit MergeTable(const std::vector<Merge>& merges) {
    while (entries_.size() < 2 * merges.size() + 1) entries_.resize(std::max<std::size_t>(16, 2 * entries_.size()));
    std::int32_t rank = 0;
    for (const Merge& merge : merges) {
      Entry& entry = entries_[place(key(merge.left, merge.right))];
      entry = {key(merge.left, merge.right), {rank++, merge.made}};
    }
  }

  const Found* find(Id left, Id right) const {
    const Entry& entry = entries_[place(key(left, right))];
    return entry.pair == kNone ? nullptr : &entry.found;
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};  // ids are not negative
  struct Entry {
    std::uint64_t pair = kNone;
    Found found;
  };

  static std::uint64_t key(Id left, Id right) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
  }
  std::size_t place(std::uint64_t pair) const {
    std::uint64_t mixed = pair * 0x9e3779b97f4a7c15ULL;
    mixed ^= mixed >> 32;
    const std::size_t mask = entries_.size() - 1;
    std::size_t at = mixed & mask;
    while (entries_[at].pair != kNone && entries_[at].pair != pair) at = (at + 1) & mask;
    return at;
  }

  std::vector<Entry> entries_;
};

class BytePairModel : public Model {
 public:
  BytePairModel(std::shared_ptr<const Vocabulary> vocabulary, const std::vector<Merge>& merges,
                std::optional<Id> unknown)
      : vocabulary_(std::move(vocabulary)), merges_(merges), unknown_(unknown) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      std::string character;
      append_utf8(bytes().character[byte], character);
      bytes_[byte] = vocabulary_->find(character);
    }
  }

  void tokenize(Word word, std::vector<Piece>& to) const override {
    thread_local std::vector<Symbol> symbols;           // words are short and many
    if (symbols.capacity() > (1U << 16)) symbols = {};  // but for the one that was not
    symbols.clear();
    std::string utf8;
    for (const Character& one : word) {
      utf8.clear();
      append_utf8(one.code, utf8);
      for (const char byte : utf8) {
        const std::optional<Id> known = bytes_[static_cast<unsigned char>(byte)];
        if (const std::optional<Id> id = known ? known : unknown_) symbols.push_back({*id, 0, 0, one.begin, one.end});
      }
    }
    constexpr std::size_t kShort = 24;
    if (symbols.size() <= kShort)
      merge_short(symbols);
    else
      merge_long(symbols);
    for (const Symbol& symbol : symbols) to.push_back({symbol.id, symbol.begin, symbol.end});
  }

 private:
  const Found* find(Id left, Id right) const { return merges_.find(left, right); }

  void merge_short(std::vector<Symbol>& symbols) const {
    std::array<const Found*, 24> pairs{};
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) pairs[i] = find(symbols[i].id, symbols[i + 1].id);
    while (symbols.size() > 1) {
      std::size_t best = symbols.size();
      for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
        if (pairs[i] != nullptr && (best == symbols.size() || pairs[i]->rank < pairs[best]->rank)) best = i;
      if (best == symbols.size()) return;
      symbols[best].id = pairs[best]->made;
      symbols[best].end = symbols[best + 1].end;
      symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
      std::copy(pairs.begin() + static_cast<std::ptrdiff_t>(best) + 1,
                pairs.begin() + static_cast<std::ptrdiff_t>(symbols.size()),
                pairs.begin() + static_cast<std::ptrdiff_t>(best));
      if (best + 1 < symbols.size()) pairs[best] = find(symbols[best].id, symbols[best + 1].id);
      if (best > 0) pairs[best - 1] = find(symbols[best - 1].id, symbols[best].id);
    }
  }

  void merge_long(std::vector<Symbol>& symbols) const {
    struct Candidate {
      std::int32_t rank, left, right;
      Id left_id, right_id, made;
      bool operator<(const Candidate& other) const {  // of a heap whose top is the least
        return rank != other.rank ? rank > other.rank : left > other.left;
      }
    };
    std::priority_queue<Candidate> queue;
    const auto consider = [&](std::int32_t left, std::int32_t right) {
      if (left < 0 || right < 0) return;
      const Id a = symbols[static_cast<std::size_t>(left)].id, b = symbols[static_cast<std::size_t>(right)].id;
      if (const Found* const found = find(a, b)) queue.push({found->rank, left, right, a, b, found->made});
    };
    const auto count = static_cast<std::int32_t>(symbols.size());
    for (std::int32_t i = 0; i < count; ++i) {
      symbols[static_cast<std::size_t>(i)].previous = i - 1;
      symbols[static_cast<std::size_t>(i)].next = i + 1 < count ? i + 1 : -1;
    }
    for (std::int32_t i = 0; i + 1 < count; ++i) consider(i, i + 1);
    constexpr Id kGone = -1;
    while (!queue.empty()) {
      const Candidate top = queue.top();
      queue.pop();
      Symbol& left = symbols[static_cast<std::size_t>(top.left)];
      Symbol& right = symbols[static_cast<std::size_t>(top.right)];
      if (left.id != top.left_id || right.id != top.right_id || left.next != top.right) continue;
      left.id = top.made;
      left.end = right.end;
      left.next = right.next;
      right.id = kGone;
      if (left.next >= 0) symbols[static_cast<std::size_t>(left.next)].previous = top.left;
      consider(left.previous, top.left);
      consider(top.left, left.next);
    }
    symbols.erase(
        std::remove_if(symbols.begin(), symbols.end(), [](const Symbol& symbol) { return symbol.id == kGone; }),
        symbols.end());
  }

  std::shared_ptr<const Vocabulary> vocabulary_;
  MergeTable merges_;
  std::array<std::optional<Id>, 256> bytes_;
  std::optional<Id> unknown_;
};

}  // namespace

std::uint32_t character_of_byte(unsigned char byte) {
  return bytes().character[byte];
}

int byte_of_character(std::uint32_t code) {
  return code < bytes().byte.size() ? bytes().byte[code] : -1;
}

std::unique_ptr<Model> byte_pairs(std::shared_ptr<const Vocabulary> vocabulary, const std::vector<Merge>& merges,
                                  std::optional<Id> unknown) {
  return std::make_unique<BytePairModel>(std::move(vocabulary), merges, unknown);
}

}  // namespace orrery::formats::tokenizer
