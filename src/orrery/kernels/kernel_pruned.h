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

constexpr Index kGroup = 4;                          // keys that are multiplied at once
constexpr int kMostInRow = 8;                        // vectors of a row that stay in registers
constexpr Index kPrunedRows = 64, kPrunedKeys = 64;  // of a block: a word of bits of each query

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

// Vectors of one head as rows of whole vectors of floats, none of which crosses a cache line: row k at data[k *
// stride].
struct HeadRows {
  const float* data;
  Index stride;
};

// Rows of positions [first, end), where they lie if they are as wanted, else copied to `room`.
inline HeadRows rows_of_head(const AttentionPart& x, const Vectors& v, Index head, Index size, Index first, Index end,
                             float* room) {
  const Index width = whole_vectors(size);
  const void* begin = element_of(x, v, head, 0);
  const bool aligned = reinterpret_cast<std::uintptr_t>(begin) % (kLanes * sizeof(float)) == 0;
  if (x.type == Type::kF32 && v.position == size && width == size && aligned)
    return {static_cast<const float*>(begin), width};
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

// A tile's pairs, four keys of one query at a time: a group. Its keys; and in one number where its scores go, its
// query's number in the block, how many of its keys are there.
struct Groups {
  std::uint32_t* keys;
  std::uint64_t* what;

  Index place(Index g) const { return static_cast<Index>(what[g] & 0xffffffffU); }
  Index row(Index g) const { return static_cast<Index>(what[g] >> 32 & 0xffU); }
  Index there(Index g) const { return static_cast<Index>(what[g] >> 40); }
};

struct PrunedScratch {
  float *keys, *values, *queries, *sums, *scores, *totals;
  Groups groups;
  Index* counts;         // of groups, in each tile
  std::uint64_t* words;  // of a row, where the mask is a list
  std::uint16_t* dropped;
  Index tiles;
};

// Scores of a row have room for a vector behind them.
inline Index score_pitch(const PrunedScratch& s) {
  return s.tiles * kPrunedKeys + kLanes;
}

// Where its parts lie; at nullptr, what it takes.
inline Index cut_pruned(const AttentionPart& x, std::uint32_t* at, PrunedScratch& s) {
  ScratchCut cut{at};
  s.tiles = (x.keys + kPrunedKeys - 1) / kPrunedKeys;
  const Index pairs = kPrunedRows * s.tiles * kPrunedKeys;
  s.keys = cut.floats(x.keys * whole_vectors(x.size));
  s.values = cut.floats(x.keys * whole_vectors(x.value_size));
  s.queries = cut.floats(kPrunedRows * whole_vectors(x.size));
  s.sums = cut.floats(kPrunedRows * whole_vectors(x.value_size));
  s.scores = cut.floats(kPrunedRows * score_pitch(s));
  s.totals = cut.floats(2 * kPrunedRows);
  s.groups.keys = cut.units(pairs + kPrunedKeys);
  s.groups.what = reinterpret_cast<std::uint64_t*>(cut.units(2 * (pairs / kGroup + kGroup)));
  s.counts = reinterpret_cast<Index*>(cut.units(2 * s.tiles));
  s.words = reinterpret_cast<std::uint64_t*>(cut.units(2 * s.tiles * kPrunedRows));
  s.dropped = reinterpret_cast<std::uint16_t*>(cut.units(kPrunedRows * (kDropGroup / 32)));
  return cut.total;
}

// Bits [begin, end) of a row, seen from word w on.
inline std::uint64_t bits_within(Range range, Index w) {
  const Index begin = range.begin - w * kPrunedKeys, end = range.end - w * kPrunedKeys;
  if (begin >= kPrunedKeys || end <= 0 || begin >= end) return 0;
  std::uint64_t bits = ~std::uint64_t{0};
  if (begin > 0) bits <<= begin;
  if (end < kPrunedKeys) bits &= ~(~std::uint64_t{0} << end);
  return bits;
}

// The queries of a block, in scratch: rows of the mask as words, what each sees, and how many scores it has so far.
struct PrunedRows {
  Index first, count;
  const std::uint64_t* words[kPrunedRows];
  Range sees[kPrunedRows];
  Index scores[kPrunedRows];
};

inline void take_rows(const AttentionPart& x, const PrunedScratch& s, PrunedRows& rows) {
  const KeptPairs& kept = *x.kept;
  for (Index r = 0; r < rows.count; ++r) {
    const Index j = rows.first + r;
    rows.sees[r] = keys_seen(x, j);
    rows.scores[r] = 0;
    float* query = s.queries + r * whole_vectors(x.size);
    unpack(x, x.query, x.head, j, x.size, query);
    for (Index i = 0; i < whole_vectors(x.size); i += kLanes) store(query + i, load(query + i) * x.scale);
    if (kept.bits != nullptr) {
      rows.words[r] = kept.bits + x.batch * kept.batch + x.head * kept.head + j * kept.row;
      continue;
    }
    std::uint64_t* words = s.words + r * s.tiles;
    for (Index w = 0; w < s.tiles; ++w) words[w] = 0;
    const Index row = (x.batch * x.heads + x.head) * x.queries + j;
    for (Index i = kept.starts[row]; i < kept.starts[row + 1]; ++i)
      words[kept.columns[i] / kPrunedKeys] |= std::uint64_t{1} << kept.columns[i] % kPrunedKeys;
    rows.words[r] = words;
  }
}

inline Groups groups_of(const PrunedScratch& s, Index tile) {
  const Index begin = tile * kPrunedRows * kPrunedKeys / kGroup;
  return {s.groups.keys + begin * kGroup, s.groups.what + begin};
}

// The groups of a tile of keys; how many. Meanwhile the tile's keys come into the first-level cache: the order in which
// they are needed is none that the processor foresees.
inline Index list_groups(const PrunedScratch& s, const HeadRows& of_keys, Index last_key, PrunedRows& rows,
                         Index tile) {
  const Index pitch = score_pitch(s);
  const Groups at = groups_of(s, tile);
  constexpr std::uint64_t kNext = kGroup;  // places
  Index groups = 0;
  for (Index r = 0; r < rows.count; ++r) {
    const float* ahead = of_keys.data + least(tile * kPrunedKeys + r, last_key) * of_keys.stride;
    for (Index c = 0; c < of_keys.stride; c += 16) __builtin_prefetch(ahead + c);
    const std::uint64_t bits = rows.words[r][tile] & bits_within(rows.sees[r], tile);
    std::uint32_t* keys = at.keys + groups * kGroup;
    const Index count = store_places(bits, static_cast<std::uint32_t>(tile * kPrunedKeys), keys);
    for (Index i = 0; i < kGroup; ++i) keys[count + i] = keys[0];
    const Index more = (count + kGroup - 1) / kGroup;
    std::uint64_t what = static_cast<std::uint64_t>(r * pitch + rows.scores[r]) | static_cast<std::uint64_t>(r) << 32 |
                         std::uint64_t{kGroup} << 40;
    // Four at once without looking: how many there are is hard to foresee, and more are rare.
    std::uint64_t* to = at.what + groups;
    for (Index g = 0; g == 0 || g < more; g += 4, what += 4 * kNext) {
      to[g] = what;
      to[g + 1] = what + kNext;
      to[g + 2] = what + 2 * kNext;
      to[g + 3] = what + 3 * kNext;
    }
    // The last one's absent keys.
    to[more == 0 ? 0 : more - 1] -= static_cast<std::uint64_t>(more * kGroup - count) << 40;
    groups += more;
    rows.scores[r] += more * kGroup;
  }
  return groups;
}

// Added to the scores of a group of which so many keys are there.
constexpr float kAbsent[kGroup + 1][kGroup] = {{-kInfinity, -kInfinity, -kInfinity, -kInfinity},
                                               {0, -kInfinity, -kInfinity, -kInfinity},
                                               {0, 0, -kInfinity, -kInfinity},
                                               {0, 0, 0, -kInfinity},
                                               {0, 0, 0, 0}};

// V: vectors of a row; 0: as many as there are, one after the other.
template <int V>
void score_groups(const PrunedScratch& s, const Groups& at, Index groups, const HeadRows& keys) {
  for (Index g = 0; g < groups; ++g) {
    const float* query = s.queries + at.row(g) * keys.stride;
    F sums[kGroup];
    const float* row[kGroup];
#pragma GCC unroll 4
    for (int i = 0; i < kGroup; ++i) row[i] = keys.data + at.keys[g * kGroup + i] * keys.stride;
    const F first = load(query);
#pragma GCC unroll 4
    for (int i = 0; i < kGroup; ++i) sums[i] = first * load(row[i]);
    const auto step = [&](Index c) __attribute__((always_inline)) {
      const F q = load(query + c);
#pragma GCC unroll 4
      for (int i = 0; i < kGroup; ++i) sums[i] = fma(q, load(row[i] + c), sums[i]);
    };
    if constexpr (V == 0) {
      for (Index c = kLanes; c < keys.stride; c += kLanes) step(c);
    } else {
#pragma GCC unroll 8
      for (int v = 1; v < V; ++v) step(v * kLanes);
    }
    store_sums(s.scores + at.place(g), sums[0], sums[1], sums[2], sums[3], kAbsent[at.there(g)]);
  }
}

// sums of a query += probabilities of a group * its values, in V vectors of a row.
template <int V>
void weigh_groups(const PrunedScratch& s, const Groups& at, Index groups, const float* values, Index stride,
                  float* sums) {
  for (Index g = 0; g < groups; ++g) {
    float* sum = sums + at.row(g) * stride;
    const float* weights = s.scores + at.place(g);
    const float* row[kGroup];
    F weight[kGroup];
#pragma GCC unroll 4
    for (int i = 0; i < kGroup; ++i) {
      row[i] = values + at.keys[g * kGroup + i] * stride;
      weight[i] = all(weights[i]);
    }
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) {
      F sums_of_row = load(sum + v * kLanes);
#pragma GCC unroll 4
      for (int k = 0; k < kGroup; ++k) sums_of_row = fma(weight[k], load(row[k] + v * kLanes), sums_of_row);
      store(sum + v * kLanes, sums_of_row);
    }
  }
}

// A row of scores, -inf where there is none, to e^(score - maximum); their maximum and sum. Room for a vector behind.
inline void soften(float* row, Index count, float& maximum, float& total) {
  F best = all(-kInfinity);
  store(row + count, best);
  for (Index i = 0; i < count; i += kLanes) best = largest(best, load(row + i));
  maximum = maximum_of(best);
  total = 0;
  if (maximum == -kInfinity) {  // the bias hides all
    for (Index i = 0; i < count; i += kLanes) store(row + i, F{});
    return;
  }
  F sums = {};
  for (Index i = 0; i < count; i += kLanes) {
    // Nothing subnormal is computed: that would take the processor a hundred cycles a time.
    const F below = load(row + i) - maximum, p = below < all(-87.0F) ? F{} : exponential(larger(all(-87.0F), below));
    store(row + i, p);
    sums += p;
  }
  total = sum_of(sums);
}

// f(group's number, which of its keys, its score) for each key that is there.
template <class Visit>
void each_of_groups(const PrunedScratch& s, const Groups& at, Index groups, const Visit& f) {
  for (Index g = 0; g < groups; ++g)
    for (Index i = 0; i < at.there(g); ++i) f(at.row(g), at.keys[g * kGroup + i], s.scores[at.place(g) + i]);
}

inline void pruned_block(const AttentionPart& x, const PrunedScratch& s, const HeadRows& keys, const HeadRows& values,
                         PrunedRows& rows) {
  take_rows(x, s, rows);
  const Index first = rows.sees[0].begin / kPrunedKeys;
  const Index end = (rows.sees[rows.count - 1].end + kPrunedKeys - 1) / kPrunedKeys;
  const Index vectors = keys.stride / kLanes;
  for (Index tile = first; tile < end; ++tile) {
    s.counts[tile] = list_groups(s, keys, rows.sees[rows.count - 1].end - 1, rows, tile);
    const Groups groups = groups_of(s, tile);
    if (vectors > kMostInRow)
      score_groups<0>(s, groups, s.counts[tile], keys);
    else
      with_vectors(vectors, [&]<int V>() { score_groups<V>(s, groups, s.counts[tile], keys); });
    if (x.bias == nullptr) continue;
    const float* bias = x.bias + x.batch * x.bias_batch + x.head * x.bias_head + rows.first * x.bias_query;
    each_of_groups(s, groups, s.counts[tile],
                   [&](Index row, Index key, float& score) { score += bias[row * x.bias_query + key]; });
  }
  for (Index r = 0; r < rows.count; ++r)
    soften(s.scores + r * score_pitch(s), rows.scores[r], s.totals[2 * r], s.totals[2 * r + 1]);
  clear(s.sums, rows.count * values.stride);
  for (Index tile = first; tile < end; ++tile) {
    const Groups groups = groups_of(s, tile);
    if (x.drop.threshold != 0) {
      constexpr Index kTilesOfGroup = kDropGroup / kPrunedKeys, kWords = kDropGroup / 16;
      if (tile == first || tile % kTilesOfGroup == 0)
        for (Index r = 0; r < rows.count; ++r)
          kept_groups(x.drop, static_cast<std::uint64_t>((x.batch * x.heads + x.head) * x.queries + rows.first + r),
                      tile / kTilesOfGroup, tile / kTilesOfGroup + 1, s.dropped + r * kWords);
      each_of_groups(s, groups, s.counts[tile], [&](Index row, Index key, float& p) {
        const Index bit = key % kDropGroup;
        p *= (s.dropped[row * kWords + bit / 16] >> bit % 16 & 1) != 0 ? x.drop.scale : 0.0F;
      });
    }
    for (Index c = 0; c < values.stride; c += kMostInRow * kLanes)
      with_vectors(least(values.stride - c, kMostInRow * kLanes) / kLanes, [&]<int V>() {
        weigh_groups<V>(s, groups, s.counts[tile], values.data + c, values.stride, s.sums + c);
      });
  }
  for (Index r = 0; r < rows.count; ++r) {
    const float m = s.totals[2 * r], l = s.totals[2 * r + 1];
    store_vector(x, x.out, x.head, rows.first + r, s.sums + r * values.stride, l == 0 ? 0 : 1 / l, x.value_size);
    if (x.log_sum != nullptr)
      x.log_sum[(x.batch * x.heads + x.head) * x.queries + rows.first + r] =
          l == 0 ? -kInfinity : m + __builtin_logf(l);
  }
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
  PrunedRows rows;
  for (rows.first = x.first_query; rows.first < end_query; rows.first += kPrunedRows) {
    rows.count = least(kPrunedRows, end_query - rows.first);
    pruned_block(x, s, keys, values, rows);
  }
}

}  // namespace
}  // namespace orrery::kernels
