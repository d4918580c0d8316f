// Rows of quantised attention scores: their codes, and which of their probabilities exceed a threshold.
//
// Idea. A probability p_j = e_j / sum, e_j = e^(s_j - max), is compared without being divided: p_j > t where
// e_j > t sum. A row goes three times through the first-level cache: scores and their maximum, exponentials and their
// sum, comparisons of 64 exponentials to a word of bits. Exponentials are not negative, so that their bits compare as
// they do. Source: Sanger (L. Lu et al., MICRO 2021). Cost: about two dozen vector instructions for kLanes scores.
#pragma once

#include "orrery/runtime/kernels/compiled/kernel_math.h"
#include "orrery/runtime/kernels/compiled/lanes.h"
#include "orrery/runtime/kernels/prune_part.h"

namespace orrery::kernels {
namespace {

constexpr Index kPruneWord = 64;

inline void row_sizes(const RowSizes& x) {
  for (Index r = 0; r < x.rows; ++r) {
    const float* in = x.in + r * x.stride;
    F squares = {}, peaks = {};
    const auto take = [&](F v) {
      squares = fma(v, v, squares);
      peaks = larger(magnitude(v), peaks);
    };
    Index i = 0;
    for (; i + kLanes <= x.columns; i += kLanes) take(load(in + i));
    if (i < x.columns) take(load(in + i, static_cast<int>(x.columns - i)));
    const float peak = maximum_of(peaks);
    float norm = __builtin_sqrtf(sum_of(squares));
    if (peak > 0 && (peak < 1e-12F || peak > 1e12F)) {  // squares that leave the range of floats
      double sum = 0;
      for (i = 0; i < x.columns; ++i) sum += static_cast<double>(in[i]) * in[i];
      norm = static_cast<float>(__builtin_sqrt(sum));
    }
    x.norms[r] = norm;
    x.peaks[r] = peak;
  }
}

inline void row_codes(const RowCodes& x) {
  const F most = all(x.most), least = all(-x.most);
  for (Index r = 0; r < x.rows; ++r) {
    const float* in = x.in + r * x.in_stride;
    std::int8_t* out = x.out + r * x.out_stride;
    const F divisor = all(x.divisors == nullptr ? 1.0F : x.divisors[r]);
    const auto code = [&](F v) {
      if (x.divisors != nullptr) v /= divisor;
      return to_int(smaller(most, larger(least, nearest(v * x.scale))));
    };
    Index i = 0;
    for (; i + kLanes <= x.columns; i += kLanes) store_int8(out + i, code(load(in + i)));
    if (i == x.columns) continue;
    const int n = static_cast<int>(x.columns - i);
    std::int8_t last[kLanes];
    store_int8(last, code(load(in + i, n)));
    for (int k = 0; k < n; ++k) out[i + k] = last[k];
  }
}

// The largest score.
inline float score_row(const ScoreRow& x) {
  auto* row = static_cast<float*>(x.row);
  const auto* sums = static_cast<const std::uint32_t*>(x.row);
  F most = all(-__builtin_inff());
  for (Index i = 0; i < x.columns; i += kLanes) {
    F v = to_float((I)load(sums + i)) * x.factor;
    if (x.column_factors != nullptr) v *= load(x.column_factors + i);
    if (x.hidden != nullptr) v += load(x.hidden + i);
    if (i + kLanes > x.columns) v = where_bits((1U << (x.columns - i)) - 1U, v, all(-__builtin_inff()));
    most = larger(v, most);
    store(row + i, v);
  }
  return maximum_of(most);
}

inline void keep_row(KeepRow& x) {
  const Index end = (x.columns + kPruneWord - 1) / kPruneWord * kPruneWord;
  const F most = all(x.most);
  F sums = {};
  Index i = 0;
  for (; i < x.columns; i += kLanes) {
    const F e = exponential(load(x.row + i) - most);
    sums += e;
    store(x.row + i, e);
  }
  for (; i < end; i += kLanes) store(x.row + i, F{});
  x.sum = sum_of(sums);
  const float limit = x.threshold * x.sum;
  std::uint32_t above;
  __builtin_memcpy(&above, &limit, sizeof above);
  ++above;
  for (Index word = 0; word < end / kPruneWord; ++word) {
    std::uint64_t dropped = 0;
    for (int part = 0; part < kPruneWord; part += kLanes)
      dropped |= std::uint64_t{below(as_bits(load(x.row + word * kPruneWord + part)), above)} << part;
    x.bits[word] = ~dropped;
  }
}

// 2^x by a polynomial of degree 4, 3.5e-6 off; 0, or nearly, below -126, up to 127.
inline F rough_power(F x) {
#if defined(__AVX512F__)
  const F r = above_whole(x);
  F p = all(0.0134266848F);
  p = fma(p, r, all(0.0522424728F));
  p = fma(p, r, all(0.241280198F));
  p = fma(p, r, all(0.693044841F));
  p = fma(p, r, all(1.0F));
  return scaled(p, x);
#else
  // Rounding by an addition leaves x's whole part in the lowest bits, from where it goes into the exponent.
  x = larger(x, all(-126.0F));
  const F shifted = x + 12582912.0F;
  const F r = x - (shifted - 12582912.0F);
  F p = all(0.00966636852F);
  p = fma(p, r, all(0.0559219758F));
  p = fma(p, r, all(0.24022349F));
  p = fma(p, r, all(0.693121045F));
  p = fma(p, r, all(1.0F));
  return as_float(as_bits(p) + (as_bits(shifted) << 23));
#endif
}

// keep_row() in two passes instead of three and with half the instructions: scores are lowered not by their maximum but
// by what their bound exceeds kQuickRange, so that no pass finds the maximum, and an exponential may be off by a
// little. A row with an exponential so near to the limit that this may matter, or with a sum so small that flushed ones
// may, is left to keep_row(): one in a hundred.
inline bool keep_row_quickly(const QuickKeep& x) {
  constexpr float kQuickRange = 60, kLog2E = 1.44269504088896341F;
  const Index end = (x.columns + kPruneWord - 1) / kPruneWord * kPruneWord;
  const float lowered = x.bound > kQuickRange ? (x.bound - kQuickRange) * kLog2E : 0;
  const F factor = all(x.factor * kLog2E), offset = all(-lowered);
  F sums = {};
  Index i = 0;
  const auto take = [&](Index at) __attribute__((always_inline)) {
    F score = fma(to_float((I)load(x.sums + at)) * load(x.column_factors + at), factor, offset);
    if (x.hidden != nullptr) score += load(x.hidden + at);
    return rough_power(score);
  };
  for (; i + kLanes <= x.columns; i += kLanes) {
    const F e = take(i);
    sums += e;
    store(x.room + i, e);
  }
  if (i < x.columns) {
    const F e = where_bits((1U << (x.columns - i)) - 1U, take(i), F{});
    sums += e;
    store(x.room + i, e);
    i += kLanes;
  }
  for (; i < end; i += kLanes) store(x.room + i, F{});
  const float sum = sum_of(sums), limit = x.threshold * sum;
  if (!(sum > 0x1p-60F) || !(sum < 0x1p120F)) return false;
  // Twice what an exponential, and once what the sum may be off: the polynomial, and the roundings of a score.
  const float off = 3 * (1e-5F + x.bound * 6e-7F);
  const float low_limit = limit * (1 - off), high_limit = limit * (1 + off);
  std::uint32_t low, high;
  __builtin_memcpy(&low, &low_limit, sizeof low);
  __builtin_memcpy(&high, &high_limit, sizeof high);
  std::uint64_t doubtful = 0;
  for (Index word = 0; word < end / kPruneWord; ++word) {
    std::uint64_t dropped = 0, perhaps = 0;
    for (int part = 0; part < kPruneWord; part += kLanes) {
      const U e = as_bits(load(x.room + word * kPruneWord + part));
      dropped |= std::uint64_t{below(e, low)} << part;
      perhaps |= std::uint64_t{below(e, high)} << part;
    }
    doubtful |= dropped ^ perhaps;
    x.bits[word] = ~dropped;
  }
  return doubtful == 0;
}

}  // namespace
}  // namespace orrery::kernels
