// Which scores of an attention are computed: a bit matrix for each head of each sequence.
//
// Bit c % 64 of word c / 64 of a row is 1 when that query attends to key c. Rows begin at words of their own, and the
// bits beyond the last column are 0, so that whole words can be counted, combined and compared.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"

namespace orrery::masks {

using base::Count;
using Word = std::uint64_t;
inline constexpr Count kWordBits = 64;

// Bits that are set, without an instruction for it: 64 at a time are counted often enough to matter.
inline Count bits_in(Word x) {
  x -= x >> 1 & 0x5555555555555555U;
  x = (x & 0x3333333333333333U) + (x >> 2 & 0x3333333333333333U);
  return static_cast<Count>(((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fU) * 0x0101010101010101U >> 56);
}

struct MaskShape {
  Count batch = 0, heads = 0, rows = 0, columns = 0;  // rows are queries, columns keys

  Count words() const { return base::ceil_divide(columns, kWordBits); }  // of a row
  Count matrices() const { return batch * heads; }
  bool operator==(const MaskShape&) const = default;
};

// Larger masks are refused (O1803): a GiB of bits, eight as a file of bytes.
inline constexpr Count kMostMaskBits = Count{1} << 33;

class Mask {
 public:
  Mask() = default;
  // Nothing is kept. The shape has been checked: no size is negative, and there are at most kMostMaskBits.
  explicit Mask(const MaskShape& shape)
      : shape_(shape), words_(static_cast<std::size_t>(shape.matrices() * shape.rows * shape.words())) {}

  const MaskShape& shape() const { return shape_; }
  Count batch() const { return shape_.batch; }
  Count heads() const { return shape_.heads; }
  Count rows() const { return shape_.rows; }
  Count columns() const { return shape_.columns; }
  Count words() const { return shape_.words(); }

  // The words of a row; a matrix is rows() of them, one behind the other.
  const Word* row(Count batch, Count head, Count row) const { return words_.data() + at(batch, head, row); }
  Word* row(Count batch, Count head, Count row) { return words_.data() + at(batch, head, row); }

  bool kept(Count batch, Count head, Count r, Count c) const {
    return (row(batch, head, r)[c / kWordBits] >> (c % kWordBits) & 1) != 0;
  }
  void keep(Count batch, Count head, Count r, Count c) {
    row(batch, head, r)[c / kWordBits] |= Word{1} << (c % kWordBits);
  }
  void drop(Count batch, Count head, Count r, Count c) {
    row(batch, head, r)[c / kWordBits] &= ~(Word{1} << (c % kWordBits));
  }

  Count kept() const { return kept_in(words_.data(), static_cast<Count>(words_.size())); }
  Count kept_in_row(Count batch, Count head, Count r) const { return kept_in(row(batch, head, r), words()); }

  // f(column) for each kept column of a row, ascending.
  template <class Visit>
  void for_each_kept(Count batch, Count head, Count r, const Visit& f) const {
    const Word* bits = row(batch, head, r);
    for (Count w = 0; w < words(); ++w)
      for (Word rest = bits[w]; rest != 0; rest &= rest - 1) f(w * kWordBits + std::countr_zero(rest));
  }

  // Which tokens are there: a byte, 1 or 0, for each row (query) and each column (key) of each sequence; empty: all
  // are. Kept bits may stand outside of them, as a predictor leaves them; inside_valid() takes those away.
  std::vector<std::uint8_t> valid_rows, valid_columns;
  bool row_valid(Count batch, Count r) const {
    return valid_rows.empty() || valid_rows[static_cast<std::size_t>(batch * shape_.rows + r)] != 0;
  }
  bool column_valid(Count batch, Count c) const {
    return valid_columns.empty() || valid_columns[static_cast<std::size_t>(batch * shape_.columns + c)] != 0;
  }
  // Query r may see the keys up to r + columns - rows only; what lies beyond counts as not there.
  bool causal = false;

  Count valid_pairs() const;  // of all heads

  bool operator==(const Mask&) const = default;

 private:
  std::size_t at(Count batch, Count head, Count r) const {
    return static_cast<std::size_t>(((batch * shape_.heads + head) * shape_.rows + r) * shape_.words());
  }
  static Count kept_in(const Word* words, Count count) {
    Count sum = 0;
    for (Count w = 0; w < count; ++w) sum += bits_in(words[w]);
    return sum;
  }

  MaskShape shape_;
  std::vector<Word> words_;
};

// The keys that the queries of a sequence may see, as the words of a row.
class There {
 public:
  There(const Mask& mask, Count batch);
  // Whether query `row` is valid itself or not. Valid until the next call.
  const std::vector<Word>& keys_of(Count row);
  // The same, none where the query is padding.
  const std::vector<Word>& pairs_of(Count row);

 private:
  const Mask& mask_;
  Count batch_;
  std::vector<Word> all_, cut_, none_;
};

// Without what is kept outside of the valid tokens, or beyond the causal diagonal.
Mask inside_valid(const Mask& mask);

// From and to a byte for each bit, [batch][heads][rows][columns]: whatever is not 0 is kept.
Mask mask_of_bytes(const MaskShape& shape, const std::uint8_t* bytes);
std::vector<std::uint8_t> bytes_of(const Mask& mask);

// From and to packed bits, [batch][heads][rows][ceil(columns / 8)]: bit j of byte i is column 8 i + j. Bits beyond the
// last column are written as 0 and not looked at.
Mask mask_of_packed(const MaskShape& shape, const std::uint8_t* packed);
std::vector<std::uint8_t> packed_of(const Mask& mask);

}  // namespace orrery::masks
