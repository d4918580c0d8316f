// Sets of kernels as bits, and a table of them. One word to sixteen: a set is compared and hashed in a few
// instructions.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace orrery::dataflow {

template <std::size_t W>
struct Bits {
  std::array<std::uint64_t, W> words{};

  friend bool operator==(const Bits&, const Bits&) = default;

  bool has(int bit) const { return (words[word(bit)] >> (bit & 63)) & 1; }
  void set(int bit) { words[word(bit)] |= std::uint64_t{1} << (bit & 63); }
  void clear(int bit) { words[word(bit)] &= ~(std::uint64_t{1} << (bit & 63)); }

  friend Bits operator|(Bits a, const Bits& b) {
    for (std::size_t i = 0; i < W; ++i) a.words[i] |= b.words[i];
    return a;
  }
  friend Bits operator&(Bits a, const Bits& b) {
    for (std::size_t i = 0; i < W; ++i) a.words[i] &= b.words[i];
    return a;
  }
  Bits without(const Bits& other) const {
    Bits result;
    for (std::size_t i = 0; i < W; ++i) result.words[i] = words[i] & ~other.words[i];
    return result;
  }
  bool within(const Bits& other) const {
    std::uint64_t outside = 0;
    for (std::size_t i = 0; i < W; ++i) outside |= words[i] & ~other.words[i];
    return outside == 0;
  }
  bool any() const {
    std::uint64_t all = 0;
    for (const std::uint64_t w : words) all |= w;
    return all != 0;
  }

  // Ascending.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (std::size_t i = 0; i < W; ++i) {
      for (std::uint64_t rest = words[i]; rest != 0; rest &= rest - 1) {
        visit(static_cast<int>(i * 64) + std::countr_zero(rest));
      }
    }
  }
  // Lowest bit at or above `from`, or -1.
  int next(int from) const {
    std::size_t i = word(from);
    if (i >= W) return -1;
    std::uint64_t rest = words[i] & (~std::uint64_t{0} << (from & 63));
    while (rest == 0) {
      if (++i >= W) return -1;
      rest = words[i];
    }
    return static_cast<int>(i * 64) + std::countr_zero(rest);
  }

  std::uint64_t hash() const {
    std::uint64_t h = 0;
    for (const std::uint64_t w : words) {
      h = (h ^ w) * 0x9E3779B97F4A7C15u;
      h ^= h >> 32;
    }
    return h;
  }

 private:
  static std::size_t word(int bit) { return static_cast<std::size_t>(bit) >> 6; }
};

// Values by set, in order of insertion; open addressing.
template <std::size_t W, typename Value>
class BitsTable {
 public:
  struct Entry {
    Bits<W> key;
    Value value;
  };

  // The entry of `key`, made if there is none, and whether it was made.
  std::pair<std::size_t, bool> insert(const Bits<W>& key) {
    if (entries_.size() * 2 >= slots_.size()) grow();
    std::size_t at = key.hash() & (slots_.size() - 1);
    for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
      if (entries_[slots_[at] - 1].key == key) return {slots_[at] - 1, false};
    }
    entries_.push_back({key, Value{}});
    slots_[at] = static_cast<std::uint32_t>(entries_.size());
    return {entries_.size() - 1, true};
  }
  // The value of `key`, or nullptr.
  const Value* find(const Bits<W>& key) const {
    if (slots_.empty()) return nullptr;
    for (std::size_t at = key.hash() & (slots_.size() - 1); slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
      if (entries_[slots_[at] - 1].key == key) return &entries_[slots_[at] - 1].value;
    }
    return nullptr;
  }
  Entry& operator[](std::size_t index) { return entries_[index]; }
  const Entry& operator[](std::size_t index) const { return entries_[index]; }
  std::size_t size() const { return entries_.size(); }
  auto begin() { return entries_.begin(); }
  auto end() { return entries_.end(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  void grow() {
    slots_.assign(slots_.empty() ? 64 : slots_.size() * 2, 0);
    for (std::size_t e = 0; e < entries_.size(); ++e) {
      std::size_t at = entries_[e].key.hash() & (slots_.size() - 1);
      while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = static_cast<std::uint32_t>(e + 1);
    }
  }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace orrery::dataflow
