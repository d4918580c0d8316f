// Attention of one head, forwards, in tiles: no matrix of scores is ever in memory.
//
// For a tile of queries the scores of one tile of keys after the other are computed, S = scale Q K^T + bias, and with
// the row's maximum m and sum l so far
//   m' = max(m, max_k S),  P = e^(S - m'),  l' = l e^(m - m') + sum_k P,  O' = O e^(m - m') + drop(P) V,
// so that O / l is the result at the end and m + ln l, the logarithm of the sum, all that the backward pass needs of
// it. (M. Milakov, N. Gimelshein 2018; T. Dao et al., FlashAttention, 2022.) Keys are packed once for all tiles of
// queries; tiles that the window hides altogether are skipped. Cost: 4 J K d operations, J K exponentials; reads Q, K,
// V, writes O.
#pragma once

#include "orrery/runtime/kernels/attention_part.h"
#include "orrery/runtime/kernels/compiled/kernel_dropout.h"
#include "orrery/runtime/kernels/compiled/kernel_finish.h"
#include "orrery/runtime/kernels/compiled/kernel_product.h"
#include "orrery/runtime/kernels/compiled/kernel_rows.h"

namespace orrery::kernels {
namespace {

constexpr float kInfinity = __builtin_inff();

inline Index least(Index a, Index b) {
  return a < b ? a : b;
}
inline Index most(Index a, Index b) {
  return a > b ? a : b;
}
inline Index whole_panels(Index n) {
  return (n + kTileColumns - 1) / kTileColumns * kTileColumns;
}

// Numbers [begin, end).
struct Range {
  Index begin, end;
};

// The keys that query j sees.
inline Range keys_seen(const AttentionPart& x, Index j) {
  const Index at = j + x.query_offset;
  const Index begin = x.reach_back < 0 ? 0 : least(most(0, at - x.reach_back), x.valid_keys);
  const Index end = x.reach_ahead < 0 ? x.valid_keys : least(x.valid_keys, at + x.reach_ahead + 1);
  return {begin, most(begin, end)};
}

// The queries that see key k.
inline Range queries_seeing(const AttentionPart& x, Index k) {
  const Index at = k - x.query_offset;
  const Index begin = x.reach_ahead < 0 ? 0 : least(most(0, at - x.reach_ahead), x.valid_queries);
  const Index end = x.reach_back < 0 ? x.valid_queries : least(x.valid_queries, at + x.reach_back + 1);
  return {begin, most(begin, end)};
}

inline const void* element_of(const AttentionPart& x, const Vectors& v, Index head, Index position) {
  const Index at = x.batch * v.batch + head * v.head + position * v.position;
  return static_cast<const char*>(v.data) + at * bytes_of(x.type);
}

// `rows` vectors from a position as rows of depth `size`, and the same turned: rows along the vectors.
inline Panels vectors_as_rows(const AttentionPart& x, const Vectors& v, Index head, Index position, Index rows,
                              Index size) {
  return {element_of(x, v, head, position), x.type, v.position, 1, rows, size};
}
inline Panels vectors_as_depth(const AttentionPart& x, const Vectors& v, Index head, Index position, Index depth,
                               Index size) {
  return {element_of(x, v, head, position), x.type, 1, v.position, size, depth};
}

inline Index units_of(const ProductKernels& kernels, Index depth) {
  return (depth + kernels.elements - 1) / kernels.elements;
}

inline void store_vector(const AttentionPart& x, const Vectors& v, Index head, Index position, const float* from,
                         float factor, Index size) {
  void* to = const_cast<void*>(element_of(x, v, head, position));
  each_vector(size, [&](Index i, int n) {
    const F value = from == nullptr ? F{} : take(from + i, n) * factor;
    x.type == Type::kBf16 ? put(static_cast<std::uint16_t*>(to) + i, value, n)
                          : put(static_cast<float*>(to) + i, value, n);
  });
}

// One vector as floats, zeros up to whole vectors.
inline void unpack(const AttentionPart& x, const Vectors& v, Index head, Index position, Index size, float* to) {
  const void* from = element_of(x, v, head, position);
  each_vector(size, [&](Index i, int n) { store(to + i, load_typed(from, x.type, i, n)); });
}

inline void clear(float* p, Index count) {
  for (Index i = 0; i < count; ++i) p[i] = 0;
}

// What the part's queries have that stand at or beyond `end`: padding.
inline void clear_padding(const AttentionPart& x, Index end) {
  for (Index j = most(x.first_query, end); j < x.end_query; ++j) {
    store_vector(x, x.out, x.head, j, nullptr, 0, x.value_size);
    if (x.log_sum != nullptr) x.log_sum[(x.batch * x.heads + x.head) * x.queries + j] = -kInfinity;
  }
}

// One row of scores to probabilities e^(S - m'), zeros where the row sees nothing; columns [begin, end) of `width` are
// seen. Updates m and l and returns the factor of what was summed before.
inline float probabilities(float* row, Index begin, Index end, Index width, float scale, const float* bias, float& m,
                           float& l) {
  F best = all(m);
  each_vector(end - begin, [&](Index i, int n) {
    F s = take(row + begin + i, n) * scale;
    if (bias != nullptr) s += take(bias + begin + i, n);
    put(row + begin + i, s, n);
    best = largest(best, n == kLanes ? s : where_bits((1U << n) - 1U, s, best));
  });
  const float top = maximum_of(best);
  if (top == -kInfinity) begin = end = 0;  // the bias hides all
  F sums = {};
  each_vector(end - begin, [&](Index i, int n) {
    const F p = exponential(take(row + begin + i, n) - top);
    put(row + begin + i, p, n);
    sums += cut(p, n);
  });
  each_vector(begin, [&](Index i, int n) { put(row + i, F{}, n); });
  each_vector(width - end, [&](Index i, int n) { put(row + end + i, F{}, n); });
  if (top == -kInfinity) return 1;
  float factor[kLanes];
  store(factor, exponential(all(m - top)));
  m = top;
  l = l * factor[0] + sum_of(sums);
  return factor[0];
}

constexpr Index kQueryTile = 64, kKeyTile = 256;
static_assert(kKeyTile <= kNarrowDepth);

// Units of scratch that a part needs, forwards.
inline Index forward_scratch(Index keys, Index size, Index value_size) {
  const Index padded = (keys + kKeyTile - 1) / kKeyTile * kKeyTile;
  return padded * (size + whole_panels(value_size)) +
         kQueryTile * (kRowUnits + 2 * kNarrowUnits + whole_panels(value_size));
}

inline void attention(const AttentionPart& x) {
  const ProductKernels& kernels = *x.products;
  const Index key_head = x.head / (x.heads / x.key_heads);
  const Index end_query = least(x.end_query, x.valid_queries);
  clear_padding(x, end_query);
  if (x.first_query >= end_query) return;

  const Index first_key = keys_seen(x, x.first_query).begin / kKeyTile * kKeyTile;
  const Index end_key = keys_seen(x, end_query - 1).end;
  const Index width = whole_panels(x.value_size);
  const Index key_units = kKeyTile * units_of(kernels, x.size);
  const Index value_units = kKeyTile * width;
  const Index tiles = most(0, end_key - first_key + kKeyTile - 1) / kKeyTile;
  std::uint32_t* packed_keys = x.scratch;
  std::uint32_t* packed_values = packed_keys + tiles * key_units;
  std::uint32_t* query_rows = packed_values + tiles * value_units;
  std::uint32_t* weights = query_rows + kQueryTile * kRowUnits;
  auto* scores = reinterpret_cast<float*>(weights + kQueryTile * kNarrowUnits);
  float* sums = scores + kQueryTile * kNarrowUnits;
  for (Index t = 0; t < tiles; ++t) {
    const Index key = first_key + t * kKeyTile, count = least(kKeyTile, end_key - key);
    kernels.pack_b(vectors_as_rows(x, x.key, key_head, key, count, x.size), packed_keys + t * key_units);
    kernels.pack_b(vectors_as_depth(x, x.value, key_head, key, count, x.value_size), packed_values + t * value_units);
  }

  for (Index query = x.first_query; query < end_query; query += kQueryTile) {
    const Index rows = least(kQueryTile, end_query - query);
    kernels.pack_a(vectors_as_rows(x, x.query, x.head, query, rows, x.size), query_rows, kRowUnits);
    float m[kQueryTile], l[kQueryTile];
    for (Index i = 0; i < rows; ++i) {
      m[i] = -kInfinity;
      l[i] = 0;
    }
    for (Index i = 0; i < rows * width; ++i) sums[i] = 0;
    const Range seen = {keys_seen(x, query).begin, keys_seen(x, query + rows - 1).end};
    for (Index t = (seen.begin - first_key) / kKeyTile; t < tiles && first_key + t * kKeyTile < seen.end; ++t) {
      const Index key = first_key + t * kKeyTile, count = least(kKeyTile, end_key - key);
      kernels.block({query_rows, packed_keys + t * key_units, rows, count, units_of(kernels, x.size), scores,
                     kNarrowUnits, false});
      for (Index i = 0; i < rows; ++i) {
        const Range sees = keys_seen(x, query + i);
        const Index begin = least(most(sees.begin - key, 0), count), end = most(begin, least(sees.end - key, count));
        float* row = scores + i * kNarrowUnits;
        const float* bias = x.bias == nullptr ? nullptr
                                              : x.bias + x.batch * x.bias_batch + x.head * x.bias_head +
                                                    (query + i) * x.bias_query + key;
        const float factor = probabilities(row, begin, end, count, x.scale, bias, m[i], l[i]);
        if (factor != 1)
          each_vector(width, [&](Index c, int) { store(sums + i * width + c, load(sums + i * width + c) * factor); });
        if (x.drop.threshold != 0) {
          std::uint16_t bits[kKeyTile / 16];
          const Index line = (x.batch * x.heads + x.head) * x.queries + query + i;
          kept_groups(x.drop, static_cast<std::uint64_t>(line), key / kDropGroup,
                      (key + count + kDropGroup - 1) / kDropGroup, bits);
          each_vector(count,
                      [&](Index c, int n) { put(row + c, take(row + c, n) * drop_factors(bits, c, x.drop.scale), n); });
        }
      }
      const std::uint32_t* a = reinterpret_cast<const std::uint32_t*>(scores);  // rows of floats are packed as they are
      if (x.arithmetic != Arithmetic::kF32) {
        kernels.pack_a({scores, Type::kF32, kNarrowUnits, 1, rows, count}, weights, kNarrowUnits);
        a = weights;
      }
      kernels.block_narrow(
          {a, packed_values + t * value_units, rows, x.value_size, units_of(kernels, count), sums, width, true});
    }
    for (Index i = 0; i < rows; ++i) {
      store_vector(x, x.out, x.head, query + i, sums + i * width, l[i] == 0 ? 0 : 1 / l[i], x.value_size);
      if (x.log_sum != nullptr) {
        x.log_sum[(x.batch * x.heads + x.head) * x.queries + query + i] =
            l[i] == 0 ? -kInfinity : m[i] + __builtin_logf(l[i]);
      }
    }
  }
}

}  // namespace
}  // namespace orrery::kernels
