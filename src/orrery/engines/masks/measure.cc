// Rows are cut into vectors of 64 columns, of which those count that have a valid pair. With n_v kept bits in vector v
// and p processing elements in a row of the array (32 for 50 %, 16 for 25 %):
//
//   skip     LB = sum n_v / (p sum ceil(n_v / p))                   vectors that keep nothing are skipped
//   no-skip  LB = sum n_v / (p (sum ceil(n_v / p) + E))             E: those vectors take a slot each
//   density     = kept valid pairs / valid pairs
//
// A vector is a word of the mask, so each figure is a count of bits. A mask that keeps nothing has a load balance of 0.
//
// Source: the log of Sanger's release (L. Lu et al., MICRO 2021); what that does otherwise is in MeasureDefects.
// Cost: a few operations for each 64 pairs.
#include "orrery/engines/masks/measure.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/engines/masks/unfinished.h"

namespace orrery::masks {
namespace {

// Of vectors with so many kept bits, how many there are: all that load balance needs.
using Histogram = std::array<Count, kWordBits + 1>;

double ratio(double above, double below, bool empty_is_nan) {
  if (below != 0) return above / below;
  return empty_is_nan ? std::numeric_limits<double>::quiet_NaN() : 0;
}

double load_balance(const Histogram& vectors, Count elements, bool skip, const MeasureDefects& defects) {
  Count kept = 0, slots = 0;
  for (Count n = 1; n <= kWordBits; ++n) {
    const Count count = vectors[static_cast<std::size_t>(n)];
    kept += count * n;
    slots += count * base::ceil_divide(n, elements);
    if (!skip && defects.slot_for_kept_vectors) slots += count;
  }
  if (!skip && !defects.slot_for_kept_vectors) slots += vectors[0];
  if (defects.float_sums) {
    const float used = static_cast<float>(kept) / static_cast<float>(elements);
    return ratio(used, static_cast<float>(slots), defects.empty_is_nan);
  }
  return ratio(static_cast<double>(kept), static_cast<double>(elements * slots), defects.empty_is_nan);
}

void check_length(const Mask& mask) {
  if (mask.columns() % kWordBits == 0 && mask.rows() % kWordBits == 0) return;
  const bool columns = mask.columns() % kWordBits != 0;
  base::Diagnostics found;
  found
      .error("O1817", fmt::format("Sanger's log stops at lengths that are not a multiple of 64, such as {}",
                                  columns ? mask.columns() : mask.rows()))
      .note(fmt::format("{} = 64 x {} + {}", columns ? mask.columns() : mask.rows(),
                        (columns ? mask.columns() : mask.rows()) / kWordBits,
                        (columns ? mask.columns() : mask.rows()) % kWordBits))
      .hint("measure it without `--compat sanger`, where a last vector may be shorter");
  found.throw_if_errors();
}

}  // namespace

Measured measure(const Mask& mask, const MeasureDefects& defects, const std::vector<Count>& emptied,
                 const base::Budget& budget) {
  if (defects.whole_vectors_only) check_length(mask);
  Mask plain;  // whose pairs beyond the diagonal are there
  if (mask.causal && defects.causal_half_counts) {
    plain = mask;
    plain.causal = false;
  }
  const Mask& of = mask.causal && defects.causal_half_counts ? plain : mask;
  std::vector<bool> idle;
  if (defects.emptied_rows_idle && !emptied.empty()) {
    idle.resize(static_cast<std::size_t>(of.shape().matrices() * of.rows()));
    for (const Count row : emptied) idle[static_cast<std::size_t>(row)] = true;
  }
  Measured out;
  out.heads.resize(static_cast<std::size_t>(of.heads()));
  Histogram vectors{};
  Count sequences = 0;
  WorkClock clock(budget);
  for (Count b = 0; b < of.batch(); ++b) {
    Count kept = 0, pairs = 0;
    There present(of, b);
    for (Count r = 0; r < of.rows(); ++r) {
      clock(of.heads() * of.words());
      const std::vector<Word>& valid = present.pairs_of(r);
      for (const Word there : valid) pairs += of.heads() * bits_in(there);
      for (Count h = 0; h < of.heads(); ++h) {
        const Word* bits = of.row(b, h, r);
        Count& kept_of_head = out.heads[static_cast<std::size_t>(h)].kept;
        const bool nothing = !idle.empty() && idle[static_cast<std::size_t>((b * of.heads() + h) * of.rows() + r)];
        for (Count w = 0; w < of.words(); ++w) {
          const Word there = valid[static_cast<std::size_t>(w)], word = nothing ? 0 : bits[w];
          const Count inside = bits_in(word & there);
          Count all = inside;
          if ((word & ~there) != 0) {
            all = bits_in(word);
            out.kept_outside += all - inside;
          }
          if (there == 0) continue;
          kept += inside;
          kept_of_head += inside;
          ++vectors[static_cast<std::size_t>(defects.outside_counts ? all : inside)];
        }
      }
    }
    out.kept += kept;
    out.pairs += pairs;
    for (HeadPairs& head : out.heads) head.pairs += pairs / of.heads();
    if (pairs == 0 && !defects.empty_is_nan) continue;
    ++sequences;
    out.overall_sparsity += ratio(static_cast<double>(kept), static_cast<double>(pairs), true);
  }
  if (sequences > 0) out.overall_sparsity /= static_cast<double>(sequences);
  out.density = ratio(static_cast<double>(out.kept), static_cast<double>(out.pairs), defects.empty_is_nan);
  for (int i = 0; i < kLoadBalances; ++i)
    out.load_balance[static_cast<std::size_t>(i)] = load_balance(vectors, i < 2 ? 32 : 16, i % 2 == 1, defects);
  for (const Count count : vectors) out.vectors += count;
  out.empty_vectors = vectors[0];
  return out;
}

Measured mean_of(const std::vector<Measured>& all) {
  Measured out;
  for (const Measured& one : all) {
    out.density += one.density;
    for (std::size_t i = 0; i < kLoadBalances; ++i) out.load_balance[i] += one.load_balance[i];
    out.overall_sparsity += one.overall_sparsity;
    out.kept += one.kept;
    out.pairs += one.pairs;
    out.kept_outside += one.kept_outside;
    out.vectors += one.vectors;
    out.empty_vectors += one.empty_vectors;
    out.heads.resize(std::max(out.heads.size(), one.heads.size()));
    for (std::size_t h = 0; h < one.heads.size(); ++h) {
      out.heads[h].kept += one.heads[h].kept;
      out.heads[h].pairs += one.heads[h].pairs;
    }
  }
  const auto count = static_cast<double>(std::max<std::size_t>(all.size(), 1));
  out.density /= count;
  for (double& balance : out.load_balance) balance /= count;
  out.overall_sparsity /= count;
  return out;
}

}  // namespace orrery::masks
