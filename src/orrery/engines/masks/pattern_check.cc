// What is wrong with a pattern (O1809 to O1812), each fault with the numbers that show it.
#include <fmt/format.h>

#include "orrery/engines/masks/static_mask.h"

namespace orrery::masks {
namespace {

class PatternCheck {
 public:
  PatternCheck(const Pattern& pattern, Count tokens, Count heads, const base::Location& where, base::Diagnostics& found)
      : p_(pattern), tokens_(tokens), where_(where), found_(found) {
    least("the number of heads", heads, 1);
    const bool grid =
        p_.kind == PatternKind::kFixed || p_.kind == PatternKind::kLongformer || p_.kind == PatternKind::kBigBird;
    if (grid) divides("the block", p_.block);
    blocks_ = grid && p_.block >= 1 ? tokens / p_.block : 0;
  }

  bool least(const char* what, Count value, Count bound) {
    if (value < bound)
      error("O1811", fmt::format("{} is {}", what, value)).hint(fmt::format("give at least {}", bound));
    return value >= bound;
  }

  void fixed() {
    // All three are looked at, so that all that are too small are told.
    const bool local = least("the number of local blocks", p_.local_blocks, 1);
    const bool global = least("the number of global blocks", p_.global_blocks, 1);
    const bool patterns = least("the number of global patterns", p_.different_global_patterns, 1);
    if (local && global && patterns) global_patterns();
    if (p_.horizontal && p_.unidirectional)
      error("O1812",
            "a query that sees only what is before it cannot see all: horizontal global attention excludes "
            "unidirectional attention")
          .hint("make the attention bidirectional, or leave horizontal global attention out");
  }

  void longformer() {
    if (least("the window", p_.window_blocks, 1)) within("the window", p_.window_blocks);
    for (const auto& [begin, end] : p_.global_ranges) {
      if (begin < 0 || end <= begin)
        error("O1811", fmt::format("the global blocks from {} to below {} are an empty range", begin, end))
            .hint("give a first block of at least 0, and an end behind it");
      else if (end > blocks_ && blocks_ > 0)
        error("O1810", fmt::format("global block {} does not exist: there are {}", end - 1, blocks_))
            .note(fmt::format("{} tokens / {} = {} blocks, numbered from 0", tokens_, p_.block, blocks_))
            .hint("leave it out, or give smaller blocks");
    }
  }

  void bigbird() {
    if (least("the window", p_.window_blocks, 1)) within("the window", p_.window_blocks);
    if (least("the number of random blocks", p_.random_blocks, 0)) within("a row's random part", p_.random_blocks);
    if (least("the number of global blocks", p_.global_blocks, 0)) within("the global part", p_.global_blocks);
  }

  void block_structured() {
    divides("the height of a block", p_.block_rows);
    divides("the width of a block", p_.block_columns);
    if (least("the array's height", p_.array_rows, 1) && p_.array_rows > p_.block_rows)
      error("O1811", fmt::format("an array of {} rows does not fit into blocks of {}", p_.array_rows, p_.block_rows))
          .hint("give a smaller array or larger blocks");
    if (least("the array's width", p_.array_columns, 1) && 2 * p_.array_columns > p_.block_columns)
      error("O1811", fmt::format("twice an array's {} columns does not fit into blocks of {}", p_.array_columns,
                                 p_.block_columns))
          .note(fmt::format("2 x {} = {} > {}", p_.array_columns, 2 * p_.array_columns, p_.block_columns))
          .hint("give a narrower array or wider blocks");
  }

 private:
  base::Diagnostic& error(const char* code, const std::string& message) { return found_.error(code, message, where_); }

  void divides(const char* what, Count block) {
    if (!least(what, block, 1) || tokens_ % block == 0) return;
    error("O1809", fmt::format("{} tokens are not a multiple of the block size {}", tokens_, block))
        .note(fmt::format("{} = {} x {} + {}", tokens_, block, tokens_ / block, tokens_ % block))
        .hint(fmt::format("pad to {}, or give a block that divides {}", base::ceil_divide(tokens_, block) * block,
                          tokens_));
  }

  void within(const char* what, Count value) {
    if (value <= blocks_) return;
    error("O1810", fmt::format("{} has {} blocks, and the sequence only {}", what, value, blocks_))
        .note(fmt::format("{} tokens / {} = {} blocks", tokens_, p_.block, blocks_))
        .hint(fmt::format("give at most {}, smaller blocks or more tokens", blocks_));
  }

  void global_patterns() {
    const Count windows = p_.local_blocks / p_.global_blocks;
    if (p_.local_blocks % p_.global_blocks != 0) {
      error("O1811", fmt::format("windows of {} blocks are not a multiple of {} global blocks", p_.local_blocks,
                                 p_.global_blocks))
          .note(fmt::format("{} = {} x {} + {}", p_.local_blocks, p_.global_blocks, windows,
                            p_.local_blocks % p_.global_blocks))
          .hint("each pattern of global blocks takes its share of a window: give a divisor");
    } else if (p_.different_global_patterns > windows) {
      error("O1811", fmt::format("a window has fewer than {} patterns of global blocks", p_.different_global_patterns))
          .note(fmt::format("{} local blocks / {} global blocks = {} patterns", p_.local_blocks, p_.global_blocks,
                            windows))
          .hint("give fewer patterns");
    }
    if (p_.different_global_patterns > 1 && !p_.per_head)
      error("O1811", fmt::format("{} patterns of global blocks need heads that differ", p_.different_global_patterns))
          .hint("say that heads have layouts of their own (different_layout_per_head, `--per-head`)");
    within("a window's global part", p_.global_blocks);
  }

  const Pattern& p_;
  Count tokens_, blocks_ = 0;
  const base::Location& where_;
  base::Diagnostics& found_;
};

}  // namespace

void check(const Pattern& pattern, Count tokens, Count heads, const base::Location& where, base::Diagnostics& found) {
  PatternCheck of(pattern, tokens, heads, where, found);
  switch (pattern.kind) {
    case PatternKind::kFixed:
      return of.fixed();
    case PatternKind::kLongformer:
      return of.longformer();
    case PatternKind::kBigBird:
      return of.bigbird();
    case PatternKind::kBlockStructured:
      return of.block_structured();
    case PatternKind::kSliding:
      of.least("the window", pattern.window, 1);
      return;
    case PatternKind::kDense:
      return;
  }
}

}  // namespace orrery::masks
