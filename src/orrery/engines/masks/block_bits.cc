#include "orrery/engines/masks/block_bits.h"

namespace orrery::masks {
namespace {

// Each bit of the word's blocks, `block` bits wide: word w of a row of tokens from a row of blocks.
Word widened(const Word* blocks, Count w, Count block) {
  Word out = 0;
  for (Count c = 0; c < kWordBits; c += block) {
    const Count bit = (w * kWordBits + c) / block;
    if ((blocks[bit / kWordBits] >> (bit % kWordBits) & 1) != 0)
      out |= block == kWordBits ? ~Word{0} : ((Word{1} << block) - 1) << c;
  }
  return out;
}

}  // namespace

std::optional<BlockBits> blocks_of(const Mask& mask, Count block) {
  BlockBits out;
  out.block = block;
  out.rows = base::ceil_divide(mask.rows(), block);
  out.words = base::ceil_divide(base::ceil_divide(mask.columns(), block), kWordBits);
  out.bits.resize(static_cast<std::size_t>(mask.batch() * mask.heads() * out.rows * out.words));
  Word* bits = out.bits.data();
  for (Count b = 0; b < mask.batch(); ++b) {
    There there(mask, b);
    for (Count h = 0; h < mask.heads(); ++h)
      for (Count first = 0; first < mask.rows(); first += block, bits += out.words) {
        const Count end = std::min(first + block, mask.rows());
        for (Count r = first; r < end; ++r) {
          const std::vector<Word>& pairs = there.pairs_of(r);
          for (Count w = 0; w < mask.words(); ++w)
            for (Word rest = mask.row(b, h, r)[w] & pairs[static_cast<std::size_t>(w)]; rest != 0;) {
              const Count bit = (w * kWordBits + std::countr_zero(rest)) / block;
              bits[bit / kWordBits] |= Word{1} << (bit % kWordBits);
              const Count next = (bit + 1) * block - w * kWordBits;  // the rest of the block says nothing new
              rest = next >= kWordBits ? 0 : rest >> next << next;
            }
        }
        for (Count r = first; r < end; ++r) {
          const std::vector<Word>& pairs = there.pairs_of(r);
          for (Count w = 0; w < mask.words(); ++w)
            if ((widened(bits, w, block) & pairs[static_cast<std::size_t>(w)] & ~mask.row(b, h, r)[w]) != 0)
              return std::nullopt;
        }
      }
  }
  return out;
}

std::optional<BlockBits> largest_blocks_of(const Mask& mask) {
  for (const Count block : {64, 32, 16})
    if (std::optional<BlockBits> found = blocks_of(mask, block)) return found;
  return std::nullopt;
}

}  // namespace orrery::masks
