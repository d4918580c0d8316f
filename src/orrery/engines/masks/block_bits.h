// A mask that is made of whole blocks, as bits of blocks.
#pragma once

#include <optional>
#include <vector>

#include "orrery/engines/masks/mask.h"

namespace orrery::masks {

struct BlockBits {
  Count block = 0;            // tokens, of rows and of columns
  Count rows = 0, words = 0;  // of a matrix, of a row
  std::vector<Word> bits;     // [batch][heads][rows][words]
};

// Nothing where some pair that is there is not kept although its block is.
std::optional<BlockBits> blocks_of(const Mask& mask, Count block);

// The same of the largest block of 64, 32 and 16 that the mask is made of.
std::optional<BlockBits> largest_blocks_of(const Mask& mask);

}  // namespace orrery::masks
