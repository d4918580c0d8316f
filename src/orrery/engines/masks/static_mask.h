// Masks that do not look at the scores, for sequences of a given length (static_mask.cc).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/limits/budget.h"
#include "orrery/engines/masks/mask.h"

namespace orrery::masks {

enum class PatternKind {
  kDense,
  kFixed,            // Sparse Transformers' local windows and global columns
  kLongformer,       // a sliding window and global blocks
  kBigBird,          // and random blocks
  kBlockStructured,  // random bits in the shape of an array
  kSliding,          // each token and those just before it
};

struct Pattern {
  PatternKind kind = PatternKind::kDense;
  Count block = 16;         // tokens
  bool per_head = false;    // heads differ: kFixed, kBlockStructured; those of kBigBird always do
  Count window_blocks = 3;  // kLongformer, kBigBird: in the middle the query's own
  // kFixed
  Count local_blocks = 4, global_blocks = 1, different_global_patterns = 1;
  bool unidirectional = false, horizontal = false;
  // kLongformer: from block to block, the last not included
  std::vector<std::pair<Count, Count>> global_ranges = {{0, 1}};
  Count random_blocks = 1;  // kBigBird; global_blocks as above
  // kBlockStructured
  Count block_rows = 64, block_columns = 128, array_rows = 32, array_columns = 32;
  Count window = 64;  // kSliding: tokens, the query's own among them
};

// What the pattern cannot be with so many tokens: O1809 (lengths and blocks), O1810 (windows and blocks that are not
// there), O1811 (parts that do not divide or fit), O1812 (directions that exclude each other), each at `where`.
void check(const Pattern& pattern, Count tokens, Count heads, const base::Location& where, base::Diagnostics& found);

// [1][heads][tokens][tokens]. Checked. The same seed gives the same mask, on every machine.
// Throws Unfinished.
Mask static_mask(const Pattern& pattern, Count tokens, Count heads, std::uint64_t seed,
                 const base::Budget& budget = {});

}  // namespace orrery::masks
