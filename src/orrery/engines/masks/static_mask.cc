// Patterns over a grid of n x n blocks, each block a square of tokens that is kept or not:
//
//   fixed        windows of L blocks are mutually kept (unidirectional: only what is not behind the query); of each
//                window the last G blocks are columns that all see (of head h: those of pattern h mod D, further left)
//   longformer   |row - column| <= window / 2; global blocks see all and are seen by all
//   bigbird      the same window, the first G blocks global, R random blocks of each row of blocks
//   hugebird     bigbird with larger figures
//
// Block-structured masks have tokens for a grid: in each block of 64 x 128, as many random rows as the array is high
// keep, of random columns twice as many as it is wide, as many as it is wide. An array that a block is packed onto has
// all its elements in use.
//
// Sources: R. Child et al. 2019 (fixed), I. Beltagy et al. 2020 (longformer), M. Zaheer et al. 2020 (bigbird), as
// DeepSpeed's configurations name their parts; Sanger (MICRO 2021) for the last. Random numbers are splitmix64's: they
// have the originals' densities, not their bits. Cost: the size of the mask.
#include "orrery/engines/masks/static_mask.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "orrery/base/numbers/split_mix.h"
#include "orrery/engines/masks/unfinished.h"

namespace orrery::masks {
namespace {

class Draw : base::SplitMix {
 public:
  using SplitMix::SplitMix;
  // From 0 to below n, each equally likely.
  Count below(Count n) {
    const auto range = static_cast<std::uint64_t>(n);
    const std::uint64_t fair = ~std::uint64_t{0} - ~std::uint64_t{0} % range;  // a whole number of ranges
    std::uint64_t drawn;
    do drawn = next();
    while (drawn >= fair);
    return static_cast<Count>(drawn % range);
  }
  // k of n, in random order.
  std::vector<Count> sample(Count n, Count k) {
    std::vector<Count> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    for (Count i = 0; i < k; ++i)
      std::swap(all[static_cast<std::size_t>(i)], all[static_cast<std::size_t>(i + below(n - i))]);
    all.resize(static_cast<std::size_t>(k));
    return all;
  }
};

// A grid of blocks of one head.
class Grid {
 public:
  Grid(Count n, WorkClock& clock) : n_(n), clock_(clock), kept_(static_cast<std::size_t>(n * n)) {}
  Count size() const { return n_; }
  bool at(Count row, Count column) const { return kept_[static_cast<std::size_t>(row * n_ + column)]; }
  void keep(Count row, Count column) {
    clock_(1);
    kept_[static_cast<std::size_t>(row * n_ + column)] = true;
  }
  void keep_row(Count row) {
    for (Count c = 0; c < n_; ++c) keep(row, c);
  }
  void keep_column(Count column, Count from = 0) {
    for (Count r = from; r < n_; ++r) keep(r, column);
  }
  void keep_window(Count blocks) {
    for (Count r = 0; r < n_; ++r)
      for (Count c = std::max<Count>(0, r - blocks / 2); c < std::min(n_, r + blocks / 2 + 1); ++c) keep(r, c);
  }

 private:
  Count n_;
  WorkClock& clock_;
  std::vector<bool> kept_;
};

void fill_fixed(const Pattern& p, Count head, Grid& grid) {
  const Count n = grid.size();
  for (Count begin = 0; begin < n; begin += p.local_blocks)
    for (Count r = begin; r < std::min(begin + p.local_blocks, n); ++r)
      for (Count c = begin; c < (p.unidirectional ? r + 1 : std::min(begin + p.local_blocks, n)); ++c) grid.keep(r, c);
  const Count offset = p.local_blocks - (1 + head % p.different_global_patterns) * p.global_blocks;
  const auto globals = [&](Count first) {
    for (Count i = first; i < first + p.global_blocks; ++i) {
      grid.keep_column(i, p.unidirectional ? first : 0);
      if (p.horizontal) grid.keep_row(i);
    }
  };
  const Count end = n - n % p.local_blocks;
  for (Count i = offset; i < end; i += p.local_blocks) globals(i);
  if (end < n) globals(std::min(end + offset, n - p.global_blocks));
}

void fill_longformer(const Pattern& p, Grid& grid) {
  grid.keep_window(p.window_blocks);
  for (const auto& [begin, end] : p.global_ranges)
    for (Count i = begin; i < std::min(end, grid.size()); ++i) {
      grid.keep_row(i);
      grid.keep_column(i);
    }
}

void fill_big_bird(const Pattern& p, Draw& draw, WorkClock& clock, Grid& grid) {
  for (Count r = 0; r < grid.size(); ++r) {
    clock(grid.size());
    for (const Count c : draw.sample(grid.size(), p.random_blocks)) grid.keep(r, c);
  }
  grid.keep_window(p.window_blocks);
  for (Count i = 0; i < p.global_blocks; ++i) {
    grid.keep_row(i);
    grid.keep_column(i);
  }
}

void expand(const Grid& grid, Count block, Count head, WorkClock& clock, Mask& mask) {
  for (Count r = 0; r < mask.rows(); ++r) {
    clock(mask.columns());
    for (Count c = 0; c < mask.columns(); ++c)
      if (grid.at(r / block, c / block)) mask.keep(0, head, r, c);
  }
}

void fill_structured(const Pattern& p, Draw& draw, Count head, WorkClock& clock, Mask& mask) {
  for (Count top = 0; top < mask.rows(); top += p.block_rows)
    for (Count left = 0; left < mask.columns(); left += p.block_columns) {
      clock(p.block_rows + p.block_columns + p.array_rows * 2 * p.array_columns);
      const std::vector<Count> columns = draw.sample(p.block_columns, 2 * p.array_columns);
      for (const Count r : draw.sample(p.block_rows, p.array_rows))
        for (const Count c : draw.sample(2 * p.array_columns, p.array_columns))
          mask.keep(0, head, top + r, left + columns[static_cast<std::size_t>(c)]);
    }
}

void copy_head(Mask& mask, Count head) {
  std::copy(mask.row(0, 0, 0), mask.row(0, 0, 0) + mask.rows() * mask.words(), mask.row(0, head, 0));
}

}  // namespace

Mask static_mask(const Pattern& p, Count tokens, Count heads, std::uint64_t seed, const base::Budget& budget) {
  WorkClock clock(budget);
  Mask mask({1, heads, tokens, tokens});
  if (tokens == 0) return mask;
  mask.causal = p.kind == PatternKind::kSliding || p.unidirectional;
  Draw draw(seed);
  for (Count head = 0; head < heads; ++head) {
    const bool differs = p.per_head || p.kind == PatternKind::kBigBird;
    clock(tokens * base::ceil_divide(tokens, kWordBits));
    if (head > 0 && !differs) {
      copy_head(mask, head);
      continue;
    }
    Grid grid(p.kind == PatternKind::kFixed || p.kind == PatternKind::kLongformer || p.kind == PatternKind::kBigBird
                  ? tokens / p.block
                  : 0,
              clock);
    switch (p.kind) {
      case PatternKind::kDense:
        for (Count r = 0; r < tokens; ++r) {
          clock(tokens);
          for (Count c = 0; c < tokens; ++c) mask.keep(0, head, r, c);
        }
        break;
      case PatternKind::kFixed:
        fill_fixed(p, head, grid);
        break;
      case PatternKind::kLongformer:
        fill_longformer(p, grid);
        break;
      case PatternKind::kBigBird:
        fill_big_bird(p, draw, clock, grid);
        break;
      case PatternKind::kBlockStructured:
        fill_structured(p, draw, head, clock, mask);
        break;
      case PatternKind::kSliding:
        for (Count r = 0; r < tokens; ++r) {
          clock(std::min(p.window, r + 1));
          for (Count c = std::max<Count>(0, r - p.window + 1); c <= r; ++c) mask.keep(0, head, r, c);
        }
        break;
    }
    if (grid.size() > 0) expand(grid, p.block, head, clock, mask);
  }
  return mask;
}

}  // namespace orrery::masks
