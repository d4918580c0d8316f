// Attention over kept pairs, backwards: one head of keys with all heads of queries that share it, or a part of them, as
// kernel_attention_back.h has it.
//
// For each query, of the listed keys alone:
//   p_k = e^(s_k - log_sum),  dp_k = M_k (dO v_k),  D = sum_k p_k dp_k,  ds_k = p_k (dp_k - D) scale
//   dq = sum_k ds_k k_k,  dk_k += ds_k q,  dv_k += M_k p_k dO.
// The mask has no gradient, and neither has what predicted it (Sanger's straight-through rule). Queries come in order,
// so that sums do not depend on threads. Cost: 10 d operations a pair; sums of keys and values pass through the caches.
#pragma once

#include "orrery/runtime/kernels/compiled/kernel_attention_back.h"
#include "orrery/runtime/kernels/compiled/kernel_pruned.h"

namespace orrery::kernels {
namespace {

// The keys that query j of a head computes, rising. Room for 64 more than there are keys.
inline Index kept_keys(const AttentionPart& x, Index head, Index j, std::uint32_t* out) {
  const Range sees = keys_seen(x, j);
  const KeptPairs& kept = *x.kept;
  Index count = 0;
  if (kept.bits == nullptr) {
    const Index row = (x.batch * x.heads + head) * x.queries + j;
    for (Index i = kept.starts[row]; i < kept.starts[row + 1]; ++i) {
      const Index key = kept.columns[i];
      out[count] = static_cast<std::uint32_t>(key);
      count += key >= sees.begin && key < sees.end ? 1 : 0;
    }
    return count;
  }
  const std::uint64_t* words = kept.bits + x.batch * kept.batch + head * kept.head + j * kept.row;
  for (Index w = sees.begin / 64; w * 64 < sees.end; ++w) {
    const std::uint64_t bits = words[w] & bits_within(sees, w);
    count += store_places(bits, static_cast<std::uint32_t>(w * 64), out + count);
  }
  return count;
}

constexpr float kNothingAdded[kGroup] = {};

// out[i] = query row . rows[at[i]] of V vectors, for `count` of them, rounded up to kGroup.
template <int V>
void dot_rows(const float* query, const HeadRows& rows, const std::uint32_t* at, Index count, float* out) {
  F q[V];
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) q[v] = load(query + v * kLanes);
  for (Index i = 0; i < count; i += kGroup) {
    F sums[kGroup];
#pragma GCC unroll 4
    for (int g = 0; g < kGroup; ++g) {
      const float* row = rows.data + at[i + g] * rows.stride;
      sums[g] = q[0] * load(row);
#pragma GCC unroll 8
      for (int v = 1; v < V; ++v) sums[g] = fma(q[v], load(row + v * kLanes), sums[g]);
    }
    store_sums(out + i, sums[0], sums[1], sums[2], sums[3], kNothingAdded);
  }
}

inline void dot_long_rows(const float* query, const HeadRows& rows, const std::uint32_t* at, Index count, float* out) {
  for (Index i = 0; i < count; i += kGroup) {
    F sums[kGroup] = {};
    for (Index c = 0; c < rows.stride; c += kLanes) {
      const F q = load(query + c);
#pragma GCC unroll 4
      for (int g = 0; g < kGroup; ++g) sums[g] = fma(q, load(rows.data + at[i + g] * rows.stride + c), sums[g]);
    }
    store_sums(out + i, sums[0], sums[1], sums[2], sums[3], kNothingAdded);
  }
}

// sums[0, V vectors) += sum over i of weights[i] * rows[at[i]]. Two chains of additions where registers allow: one
// alone would wait for itself.
template <int V>
void add_rows(const float* weights, const std::uint32_t* at, Index count, const float* data, Index stride,
              float* sums) {
  constexpr int kChains = V <= 4 ? 2 : 1;
  F sum[kChains][V];
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) {
    sum[0][v] = load(sums + v * kLanes);
    if constexpr (kChains == 2) sum[1][v] = F{};
  }
  Index i = 0;
  for (; i + kChains <= count; i += kChains) {
#pragma GCC unroll 2
    for (int chain = 0; chain < kChains; ++chain) {
      const float* row = data + at[i + chain] * stride;
      const F weight = all(weights[i + chain]);
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sum[chain][v] = fma(weight, load(row + v * kLanes), sum[chain][v]);
    }
  }
  if (i < count) {
    const float* row = data + at[i] * stride;
    const F weight = all(weights[i]);
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) sum[0][v] = fma(weight, load(row + v * kLanes), sum[0][v]);
  }
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) {
    if constexpr (kChains == 2) sum[0][v] += sum[1][v];
    store(sums + v * kLanes, sum[0][v]);
  }
}

inline void dots(const float* query, const HeadRows& rows, const std::uint32_t* at, Index count, float* out) {
  const Index vectors = rows.stride / kLanes;
  if (vectors > kMostInRow) return dot_long_rows(query, rows, at, count, out);
  with_vectors(vectors, [&]<int V>() { dot_rows<V>(query, rows, at, count, out); });
}

inline void weighted_sum(const float* weights, const std::uint32_t* at, Index count, const HeadRows& rows,
                         float* sums) {
  for (Index c = 0; c < rows.stride; c += kMostInRow * kLanes) {
    const Index vectors = least(rows.stride - c, kMostInRow * kLanes) / kLanes;
    with_vectors(vectors, [&]<int V>() { add_rows<V>(weights, at, count, rows.data + c, rows.stride, sums + c); });
  }
}

// The list up to whole groups: what is computed for the last ones is not looked at.
inline void fill_group(std::uint32_t* list, Index count) {
  for (Index i = count; i % kGroup != 0; ++i) list[i] = list[0];
}

inline void gathered_bias(const AttentionPart& x, Index head, Index j, const std::uint32_t* list, Index count,
                          float* out) {
  const float* bias = x.bias + x.batch * x.bias_batch + head * x.bias_head + j * x.bias_query;
  for (Index i = 0; i < count; ++i) out[i] = bias[list[i]];
}

// factors[i] of the listed keys: dropout's scale, or 0. `bits` has room for all keys.
inline void listed_drops(const AttentionPart& x, Index head, Index j, const std::uint32_t* list, Index count,
                         std::uint16_t* bits, float* factors) {
  if (count == 0) return;
  const Index first = list[0] / kDropGroup, end = list[count - 1] / kDropGroup + 1;
  kept_groups(x.drop, static_cast<std::uint64_t>((x.batch * x.heads + head) * x.queries + j), first, end, bits);
  for (Index i = 0; i < count; ++i) {
    const std::uint32_t key = list[i] - static_cast<std::uint32_t>(first * kDropGroup);
    factors[i] = (bits[key / 16] >> key % 16 & 1) != 0 ? x.drop.scale : 0.0F;
  }
}

// sums[at[i]] += weights[i] * row, of V vectors.
template <int V>
void spread_row(const float* weights, const std::uint32_t* at, Index count, const float* row, float* sums,
                Index stride) {
  F r[V];
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) r[v] = load(row + v * kLanes);
  for (Index i = 0; i < count; ++i) {
    float* sum = sums + at[i] * stride;
    const F weight = all(weights[i]);
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) store(sum + v * kLanes, fma(weight, r[v], load(sum + v * kLanes)));
  }
}

inline void spread(const float* weights, const std::uint32_t* at, Index count, const float* row, Index width,
                   float* sums) {
  for (Index c = 0; c < width; c += kMostInRow * kLanes) {
    const Index vectors = least(width - c, kMostInRow * kLanes) / kLanes;
    with_vectors(vectors, [&]<int V>() { spread_row<V>(weights, at, count, row + c, sums + c, width); });
  }
}

struct PrunedBackScratch {
  float *keys, *values, *query, *gradient, *scores, *slopes, *factors, *query_sum, *key_sums, *value_sums;
  std::uint32_t* list;
  std::uint16_t* dropped;
};

inline Index cut_pruned_back(const AttentionPart& x, std::uint32_t* at, PrunedBackScratch& s) {
  const Index size = whole_vectors(x.size), value_size = whole_vectors(x.value_size);
  ScratchCut cut{at};
  s.keys = cut.floats(x.keys * size);
  s.values = cut.floats(x.keys * value_size);
  s.query = cut.floats(size);
  s.gradient = cut.floats(value_size);
  s.scores = cut.floats(x.keys + kGroup);
  s.slopes = cut.floats(x.keys + kGroup);
  s.factors = cut.floats(x.keys + kGroup);
  s.query_sum = cut.floats(size);
  s.key_sums = cut.floats(x.keys * size);
  s.value_sums = cut.floats(x.keys * value_size);
  s.list = cut.units(x.keys + 64);
  s.dropped = reinterpret_cast<std::uint16_t*>(cut.units((x.keys / kDropGroup + 1) * (kDropGroup / 32)));
  return cut.total;
}

// Scores to M p, and products with the gradient to ds.
inline void pruned_slopes(const AttentionPart& x, const PrunedBackScratch& s, Index head, Index j, Index count) {
  const float log_sum = x.log_sum[(x.batch * x.heads + head) * x.queries + j];
  if (x.bias != nullptr) {
    gathered_bias(x, head, j, s.list, count, s.factors);
    each_vector(count, [&](Index i, int n) {
      put(s.scores + i, exponential(take(s.scores + i, n) * x.scale + take(s.factors + i, n) - log_sum), n);
    });
  } else {
    each_vector(count,
                [&](Index i, int n) { put(s.scores + i, exponential(take(s.scores + i, n) * x.scale - log_sum), n); });
  }
  const bool drops = x.drop.threshold != 0;
  if (drops) listed_drops(x, head, j, s.list, count, s.dropped, s.factors);
  F products = {};
  each_vector(count, [&](Index i, int n) {
    F slope = take(s.slopes + i, n);
    if (drops) slope *= take(s.factors + i, n);
    put(s.slopes + i, slope, n);
    products += cut(slope * take(s.scores + i, n), n);
  });
  const float product = sum_of(products);
  each_vector(count, [&](Index i, int n) {
    const F p = take(s.scores + i, n);
    put(s.slopes + i, p * (take(s.slopes + i, n) - product) * x.scale, n);
    if (drops) put(s.scores + i, p * take(s.factors + i, n), n);
  });
}

inline void pruned_attention_back(const AttentionPart& x) {
  PrunedBackScratch s;
  cut_pruned_back(x, x.scratch, s);
  const Index key_head = x.head / (x.heads / x.key_heads);
  const Index size = whole_vectors(x.size), value_size = whole_vectors(x.value_size);
  const Index end_query = most(x.first_query, least(x.end_query, x.valid_queries));
  clear(s.key_sums, x.keys * size);
  clear(s.value_sums, x.keys * value_size);
  const HeadRows keys = rows_of_head(x, x.key, key_head, x.size, 0, x.valid_keys, s.keys);
  const HeadRows values = rows_of_head(x, x.value, key_head, x.value_size, 0, x.valid_keys, s.values);
  for (Index head = x.head; head < x.end_head; ++head) {
    for (Index j = x.first_query; j < end_query; ++j) {
      Index count = kept_keys(x, head, j, s.list);
      if (x.log_sum[(x.batch * x.heads + head) * x.queries + j] == -kInfinity) count = 0;
      fill_group(s.list, count);
      unpack(x, x.query, head, j, x.size, s.query);
      unpack(x, x.out_gradient, head, j, x.value_size, s.gradient);
      dots(s.query, keys, s.list, count, s.scores);
      dots(s.gradient, values, s.list, count, s.slopes);
      pruned_slopes(x, s, head, j, count);
      clear(s.query_sum, size);
      weighted_sum(s.slopes, s.list, count, keys, s.query_sum);
      spread(s.slopes, s.list, count, s.query, size, s.key_sums);
      spread(s.scores, s.list, count, s.gradient, value_size, s.value_sums);
      store_vector(x, x.query_gradient, head, j, s.query_sum, 1, x.size);
    }
    for (Index j = end_query; j < x.end_query; ++j) store_vector(x, x.query_gradient, head, j, nullptr, 1, x.size);
  }
  hand_over_keys(x, key_head, s.key_sums, size, s.value_sums, value_size);
}

}  // namespace
}  // namespace orrery::kernels
