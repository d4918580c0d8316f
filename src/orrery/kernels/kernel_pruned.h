// Attention of one head over the pairs that a mask keeps, an element at a time: only they cost anything.
//
// For a query, its kept keys become a list; then
//   s_k = q k  for the listed keys (SDDMM),   p = softmax of the list, its maximum subtracted,   o = sum_k p_k v_k
//   (SpMM).
// Nothing is as long as the row but bits. Four keys are multiplied at once, and their vectors of partial sums are added
// up together, which takes 13 instructions where four sums apart would take 32. Keys and values lie in rows of whole
// vectors, packed if they do not lie so by themselves.
//
// Bound, of a pair with heads of 64 floats in vectors of 16: 4 + 4 multiply-adds and 3.3 instructions of the sum on two
// ports: 5.7 cycles; 8 loads of whole vectors, which the first-level cache gives in 4 cycles and the second in about
// 10. So dense attention, at 4 cycles a pair and its exponentials, is overtaken below about a third of the pairs.
// (S. Gray et al. 2017 and L. Lu et al., MICRO 2021, for the three steps.) Cost: 4 d operations a pair, forwards.
#pragma once

#include "orrery/kernels/kept_pairs.h"
#include "orrery/kernels/kernel_attention.h"

namespace orrery::kernels {
namespace {

constexpr Index kGroup = 4;    // keys that are multiplied at once
constexpr int kMostInRow = 8;  // vectors of a row that stay in registers

inline Index whole_vectors(Index n) {
  return (n + kLanes - 1) / kLanes * kLanes;
}

// Hands out parts of the scratch; with none, counts what is needed.
struct ScratchCut {
  std::uint32_t* at = nullptr;
  Index total = 0;

  std::uint32_t* units(Index count) {
    std::uint32_t* begin = at;
    count = (count + 15) / 16 * 16;
    if (at != nullptr) at += count;
    total += count;
    return begin;
  }
  float* floats(Index count) { return reinterpret_cast<float*>(units(count)); }
};

// Vectors of one head as rows of whole vectors of floats: row k at data[k * stride].
struct HeadRows {
  const float* data;
  Index stride;
};

// Rows of positions [first, end), where they lie if they are as wanted, else copied to `room`.
inline HeadRows rows_of_head(const AttentionPart& x, const Vectors& v, Index head, Index size, Index first, Index end,
                             float* room) {
  const Index width = whole_vectors(size);
  if (x.type == Type::kF32 && v.position == size && width == size)
    return {static_cast<const float*>(element_of(x, v, head, 0)), width};
  for (Index k = first; k < end; ++k) {
    unpack(x, v, head, k, size, room + k * width);
  }
  return {room, width};
}

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
  const std::uint64_t* words = kept.bits + x.batch * kept.batch + head * kept.head + j / kept.block * kept.row;
  const Index begin = sees.begin / kept.block, end = (sees.end + kept.block - 1) / kept.block;
  for (Index w = begin / 64; w * 64 < end; ++w) {
    std::uint64_t bits = words[w];
    if (w * 64 < begin) bits &= ~std::uint64_t{0} << (begin - w * 64);
    if (end - w * 64 < 64) bits &= ~(~std::uint64_t{0} << (end - w * 64));
    if (kept.block == 1) {
      count += store_places(bits, static_cast<std::uint32_t>(w * 64), out + count);
      continue;
    }
    for (; bits != 0; bits &= bits - 1) {
      const Index block = (w * 64 + __builtin_ctzll(bits)) * kept.block;
      for (Index key = most(block, sees.begin); key < least(block + kept.block, sees.end); ++key)
        out[count++] = static_cast<std::uint32_t>(key);
    }
  }
  return count;
}

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
    store_sums(out + i, sums[0], sums[1], sums[2], sums[3]);
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
    store_sums(out + i, sums[0], sums[1], sums[2], sums[3]);
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

// f with the number of vectors of a row as a constant, from 1 to kMostInRow.
template <int V = kMostInRow, class Function>
void with_vectors(Index vectors, Function f) {
  if constexpr (V > 1) {
    if (vectors < V) return with_vectors<V - 1>(vectors, f);
  }
  f.template operator()<V>();
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

struct PrunedScratch {
  float *keys, *values, *query, *scores, *extra, *sums;
  std::uint32_t* list;
  std::uint16_t* dropped;
};

// Where its parts lie; at nullptr, what it takes.
inline Index cut_pruned(const AttentionPart& x, std::uint32_t* at, PrunedScratch& s) {
  ScratchCut cut{at};
  s.keys = cut.floats(x.keys * whole_vectors(x.size));
  s.values = cut.floats(x.keys * whole_vectors(x.value_size));
  s.query = cut.floats(whole_vectors(x.size));
  s.scores = cut.floats(x.keys + kGroup);
  s.extra = cut.floats(x.keys + kGroup);
  s.sums = cut.floats(whole_vectors(x.value_size));
  s.list = cut.units(x.keys + 64);
  s.dropped = reinterpret_cast<std::uint16_t*>(cut.units((x.keys / kDropGroup + 1) * (kDropGroup / 32)));
  return cut.total;
}

// One query of a head: its output and log_sum.
inline void pruned_query(const AttentionPart& x, const PrunedScratch& s, const HeadRows& keys, const HeadRows& values,
                         Index j) {
  const Index count = kept_keys(x, x.head, j, s.list);
  fill_group(s.list, count);
  unpack(x, x.query, x.head, j, x.size, s.query);
  dots(s.query, keys, s.list, count, s.scores);
  if (x.bias != nullptr) gathered_bias(x, x.head, j, s.list, count, s.extra);
  float m = -kInfinity, l = 0;
  probabilities(s.scores, 0, count, count, x.scale, x.bias == nullptr ? nullptr : s.extra, m, l);
  if (x.drop.threshold != 0) {
    listed_drops(x, x.head, j, s.list, count, s.dropped, s.extra);
    each_vector(count, [&](Index i, int n) { put(s.scores + i, take(s.scores + i, n) * take(s.extra + i, n), n); });
  }
  clear(s.sums, values.stride);
  weighted_sum(s.scores, s.list, l == 0 ? 0 : count, values, s.sums);
  store_vector(x, x.out, x.head, j, s.sums, l == 0 ? 0 : 1 / l, x.value_size);
  if (x.log_sum != nullptr)
    x.log_sum[(x.batch * x.heads + x.head) * x.queries + j] = l == 0 ? -kInfinity : m + __builtin_logf(l);
}

inline void pruned_attention(const AttentionPart& x) {
  PrunedScratch s;
  cut_pruned(x, x.scratch, s);
  const Index key_head = x.head / (x.heads / x.key_heads);
  const Index end_query = least(x.end_query, x.valid_queries);
  clear_padding(x, end_query);
  if (x.first_query >= end_query) return;
  const Index first = keys_seen(x, x.first_query).begin, end = keys_seen(x, end_query - 1).end;
  const HeadRows keys = rows_of_head(x, x.key, key_head, x.size, first, end, s.keys);
  const HeadRows values = rows_of_head(x, x.value, key_head, x.value_size, first, end, s.values);
  for (Index j = x.first_query; j < end_query; ++j) pruned_query(x, s, keys, values, j);
}

}  // namespace
}  // namespace orrery::kernels
