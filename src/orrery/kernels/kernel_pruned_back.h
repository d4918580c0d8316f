// Attention over kept pairs, backwards: one head of keys with all heads of queries that share it, or a part of them, as
// kernel_attention_back.h has it.
//
// For each query, of the listed keys alone:
//   p_k = e^(s_k - log_sum),  dp_k = M_k (dO v_k),  D = sum_k p_k dp_k,  ds_k = p_k (dp_k - D) scale
//   dq = sum_k ds_k k_k,  dk_k += ds_k q,  dv_k += M_k p_k dO.
// The mask has no gradient, and neither has what predicted it (Sanger's straight-through rule). Queries come in order,
// so that sums do not depend on threads. Cost: 10 d operations a pair; sums of keys and values pass through the caches.
#pragma once

#include "orrery/kernels/kernel_attention_back.h"
#include "orrery/kernels/kernel_pruned.h"

namespace orrery::kernels {
namespace {

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
