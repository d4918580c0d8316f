// Rows of quantised attention scores: their codes, and which of their probabilities exceed a threshold.
//
// Idea. A probability p_j = e_j / sum, e_j = e^(s_j - max), is compared without being divided: p_j > t where
// e_j > t sum. A row goes three times through the first-level cache: scores and their maximum, exponentials and their
// sum, comparisons of 64 exponentials to a word of bits. Exponentials are not negative, so that their bits compare as
// they do. Source: Sanger (L. Lu et al., MICRO 2021). Cost: about two dozen vector instructions for kLanes scores.
#pragma once

#include "orrery/kernels/kernel_math.h"
#include "orrery/kernels/lanes.h"
#include "orrery/kernels/prune_part.h"

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

}  // namespace
}  // namespace orrery::kernels
