#include "orrery/engines/masks/mask.h"

#include <algorithm>

namespace orrery::masks {
namespace {

// f(words of a row, index of the row) for each row of the mask.
template <class AnyMask, class Visit>
void for_each_row(AnyMask& mask, const Visit& f) {
  std::size_t index = 0;
  for (Count b = 0; b < mask.batch(); ++b)
    for (Count h = 0; h < mask.heads(); ++h)
      for (Count r = 0; r < mask.rows(); ++r) f(mask.row(b, h, r), index++);
}

}  // namespace

There::There(const Mask& mask, Count batch)
    : mask_(mask), batch_(batch), all_(static_cast<std::size_t>(mask.words())), cut_(all_.size()), none_(all_.size()) {
  for (Count c = 0; c < mask.columns(); ++c)
    all_[static_cast<std::size_t>(c / kWordBits)] |= Word{mask.column_valid(batch, c)} << (c % kWordBits);
}

const std::vector<Word>& There::keys_of(Count row) {
  if (!mask_.causal) return all_;
  const Count seen = std::clamp<Count>(row + mask_.columns() - mask_.rows() + 1, 0, mask_.columns());
  for (Count w = 0; w < mask_.words(); ++w) {
    const Count of_word = std::clamp<Count>(seen - w * kWordBits, 0, kWordBits);
    const Word open = of_word == kWordBits ? ~Word{0} : (Word{1} << of_word) - 1;
    cut_[static_cast<std::size_t>(w)] = all_[static_cast<std::size_t>(w)] & open;
  }
  return cut_;
}

const std::vector<Word>& There::pairs_of(Count row) {
  return mask_.row_valid(batch_, row) ? keys_of(row) : none_;
}

Count Mask::valid_pairs() const {
  Count pairs = 0;
  for (Count b = 0; b < batch(); ++b) {
    There there(*this, b);
    for (Count r = 0; r < rows(); ++r) pairs += kept_in(there.pairs_of(r).data(), words());
  }
  return pairs * heads();
}

Mask inside_valid(const Mask& mask) {
  Mask out = mask;
  if (mask.valid_rows.empty() && mask.valid_columns.empty() && !mask.causal) return out;
  for (Count b = 0; b < mask.batch(); ++b) {
    There there(mask, b);
    for (Count r = 0; r < mask.rows(); ++r) {
      const std::vector<Word>& valid = there.pairs_of(r);
      for (Count h = 0; h < mask.heads(); ++h) {
        Word* bits = out.row(b, h, r);
        for (Count w = 0; w < mask.words(); ++w) bits[w] &= valid[static_cast<std::size_t>(w)];
      }
    }
  }
  return out;
}

Mask mask_of_bytes(const MaskShape& shape, const std::uint8_t* bytes) {
  Mask mask(shape);
  for_each_row(mask, [&](Word* bits, std::size_t row) {
    const std::uint8_t* from = bytes + row * static_cast<std::size_t>(shape.columns);
    for (Count c = 0; c < shape.columns; ++c) bits[c / kWordBits] |= Word{from[c] != 0} << (c % kWordBits);
  });
  return mask;
}

std::vector<std::uint8_t> bytes_of(const Mask& mask) {
  const auto columns = static_cast<std::size_t>(mask.columns());
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(mask.shape().matrices() * mask.rows()) * columns);
  for_each_row(mask, [&](const Word* bits, std::size_t row) {
    for (std::size_t c = 0; c < columns; ++c) bytes[row * columns + c] = bits[c / 64] >> (c % 64) & 1;
  });
  return bytes;
}

Mask mask_of_packed(const MaskShape& shape, const std::uint8_t* packed) {
  Mask mask(shape);
  const auto width = static_cast<std::size_t>(base::ceil_divide(shape.columns, 8));
  const Count rest = shape.columns % kWordBits;
  for_each_row(mask, [&](Word* bits, std::size_t row) {
    for (std::size_t i = 0; i < width; ++i) bits[i / 8] |= Word{packed[row * width + i]} << (8 * (i % 8));
    if (rest != 0) bits[shape.words() - 1] &= (Word{1} << rest) - 1;
  });
  return mask;
}

std::vector<std::uint8_t> packed_of(const Mask& mask) {
  const auto width = static_cast<std::size_t>(base::ceil_divide(mask.columns(), 8));
  std::vector<std::uint8_t> packed(static_cast<std::size_t>(mask.shape().matrices() * mask.rows()) * width);
  for_each_row(mask, [&](const Word* bits, std::size_t row) {
    for (std::size_t i = 0; i < width; ++i)
      packed[row * width + i] = static_cast<std::uint8_t>(bits[i / 8] >> (8 * (i % 8)));
  });
  return packed;
}

}  // namespace orrery::masks
