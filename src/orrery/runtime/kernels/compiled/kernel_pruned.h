// Attention of one head over the pairs that a mask keeps, an element at a time: only they cost anything.
//
// For a query and its kept keys,
//   s_k = q k  (SDDMM),   p = softmax of these, their maximum subtracted,   o = sum_k p_k v_k  (SpMM).
// 64 queries meet tiles of 64 keys, a word of bits each, so that a tile stays in the first-level cache. A query's
// vector stays in registers while the keys of its word pass, four at once, whose vectors of partial sums are added up
// together: 13 instructions where four sums apart would take 32. With the values its sums do. How many keys a query has
// in a tile is nothing that a processor foresees; so queries with as many stand behind one another (a counting sort of
// 64). Keys and values lie in rows of whole vectors, packed if they do not lie so by themselves.
//
// Bound, of a pair with heads of 64 floats in vectors of 16: 4 + 4 multiply-adds and 3.3 instructions of the sum on two
// ports: 5.7 cycles; 8 loads of whole vectors, which the first-level cache gives in 4 cycles and the second in about
// 10. So dense attention, at 4 cycles a pair and its exponentials, is overtaken below about a third of the pairs.
// (S. Gray et al. 2017 and L. Lu et al., MICRO 2021, for the three steps.) Cost: 4 d operations a pair, forwards.
#pragma once

#include "orrery/runtime/kernels/compiled/kernel_attention.h"
#include "orrery/runtime/kernels/kept_pairs.h"

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

// f with the number of vectors of a row as a constant, from 1 to kMostInRow.
template <int V = kMostInRow, class Function>
void with_vectors(Index vectors, Function f) {
  if constexpr (V > 1) {
    if (vectors < V) return with_vectors<V - 1>(vectors, f);
  }
  f.template operator()<V>();
}

// What one query keeps of a tile: bits of keys, and where its scores go.
struct TileRow {
  std::uint64_t bits;
  std::uint32_t place;  // of its first score; as many whole groups as its keys take lie there
  std::uint16_t row;    // of the block
  std::uint16_t count;  // bits that are set: at least one
};

struct PrunedScratch {
  float *keys, *values, *queries, *sums, *scores, *totals;
  TileRow* kept;         // of each tile up to kPrunedRows
  Index* counts;         // of them
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
  s.keys = cut.floats(x.keys * whole_vectors(x.size));
  s.values = cut.floats(x.keys * whole_vectors(x.value_size));
  s.queries = cut.floats(kPrunedRows * whole_vectors(x.size));
  s.sums = cut.floats(kPrunedRows * whole_vectors(x.value_size));
  s.scores = cut.floats(kPrunedRows * score_pitch(s));
  s.totals = cut.floats(2 * kPrunedRows);
  s.kept = reinterpret_cast<TileRow*>(cut.units(4 * s.tiles * kPrunedRows));
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

// A tile's rows come into the first-level cache: the order in which they are needed is none that the processor
// foresees.
inline void fetch_tile(const HeadRows& of, Index tile, Index end) {
  const float* const begin = of.data + tile * kPrunedKeys * of.stride;
  const Index floats = least(kPrunedKeys, end - tile * kPrunedKeys) * of.stride;
  for (Index c = 0; c < floats; c += 16) __builtin_prefetch(begin + c);
}

// What each query keeps of a tile, those that keep as many one behind the other; how many keep any.
inline Index sort_rows(const PrunedScratch& s, PrunedRows& rows, Index tile) {
  const Index pitch = score_pitch(s);
  TileRow* const out = s.kept + tile * kPrunedRows;
  std::uint64_t bits[kPrunedRows];
  std::uint16_t counts[kPrunedRows], starts[kPrunedKeys + 2] = {};
  Index largest = 0;
  for (Index r = 0; r < rows.count; ++r) {
    bits[r] = rows.words[r][tile] & bits_within(rows.sees[r], tile);
    counts[r] = static_cast<std::uint16_t>(__builtin_popcountll(bits[r]));
    largest = most(largest, counts[r]);
    ++starts[counts[r] + 1];
  }
  const Index none = starts[1];
  starts[1] = 0;
  for (Index i = 1; i <= largest; ++i) starts[i + 1] = static_cast<std::uint16_t>(starts[i + 1] + starts[i]);
  for (Index r = 0; r < rows.count; ++r) {
    if (counts[r] == 0) continue;
    out[starts[counts[r]]++] = {bits[r], static_cast<std::uint32_t>(r * pitch + rows.scores[r]),
                                static_cast<std::uint16_t>(r), counts[r]};
    rows.scores[r] += (counts[r] + kGroup - 1) / kGroup * kGroup;
  }
  return rows.count - none;
}

// To the place of the lowest bit, which is taken away; where there is none, stays.
inline void step(std::uint64_t& bits, Index& place) {
  place = bits == 0 ? place : __builtin_ctzll(bits);
  bits &= bits - 1;
}

// Added to the scores of a group of which so many keys are there.
constexpr float kAbsent[kGroup + 1][kGroup] = {{-kInfinity, -kInfinity, -kInfinity, -kInfinity},
                                               {0, -kInfinity, -kInfinity, -kInfinity},
                                               {0, 0, -kInfinity, -kInfinity},
                                               {0, 0, 0, -kInfinity},
                                               {0, 0, 0, 0}};

// Scores of a tile's kept pairs, four keys of a query at a time. V: vectors of a row; 0: as many as there are, one
// after the other.
template <int V>
void score_rows(const PrunedScratch& s, const TileRow* kept, Index count, const float* keys, Index stride) {
  for (const TileRow* row = kept; row != kept + count; ++row) {
    const float* query = s.queries + row->row * stride;
    float* out = s.scores + row->place;
    std::uint64_t bits = row->bits;
    Index place = 0;
    F q[V == 0 ? 1 : V];
    if constexpr (V > 0) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) q[v] = load(query + v * kLanes);
    }
    for (Index left = row->count; left > 0; left -= kGroup, out += kGroup) {
      const float* key[kGroup];
#pragma GCC unroll 4
      for (int i = 0; i < kGroup; ++i) {  // what is absent repeats a key: another might hold anything
        step(bits, place);
        key[i] = keys + place * stride;
      }
      F sums[kGroup];
      if constexpr (V == 0) {
        for (int i = 0; i < kGroup; ++i) sums[i] = F{};
        for (Index c = 0; c < stride; c += kLanes) {
          const F part = load(query + c);
#pragma GCC unroll 4
          for (int i = 0; i < kGroup; ++i) sums[i] = fma(part, load(key[i] + c), sums[i]);
        }
      } else {
#pragma GCC unroll 4
        for (int i = 0; i < kGroup; ++i) sums[i] = q[0] * load(key[i]);
#pragma GCC unroll 8
        for (int v = 1; v < V; ++v) {
#pragma GCC unroll 4
          for (int i = 0; i < kGroup; ++i) sums[i] = fma(q[v], load(key[i] + v * kLanes), sums[i]);
        }
      }
      store_sums(out, sums[0], sums[1], sums[2], sums[3], kAbsent[least(left, kGroup)]);
    }
  }
}

// sums of a query += its probabilities of a tile * values, in V vectors of a row.
template <int V>
void weigh_rows(const PrunedScratch& s, const TileRow* kept, Index count, const float* values, Index stride,
                float* sums) {
  for (const TileRow* row = kept; row != kept + count; ++row) {
    float* const to = sums + row->row * stride;
    const float* weight = s.scores + row->place;
    std::uint64_t bits = row->bits;
    F sum[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) sum[v] = load(to + v * kLanes);
    for (Index i = row->count; i > 0; --i, ++weight) {
      const float* const value = values + __builtin_ctzll(bits) * stride;
      bits &= bits - 1;
      const F w = all(*weight);
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sum[v] = fma(w, load(value + v * kLanes), sum[v]);
    }
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) store(to + v * kLanes, sum[v]);
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

// f(row of the block, key, its score) for each kept pair of a tile.
template <class Visit>
void each_of_tile(const PrunedScratch& s, Index tile, const Visit& f) {
  const TileRow* const kept = s.kept + tile * kPrunedRows;
  for (const TileRow* row = kept; row != kept + s.counts[tile]; ++row) {
    std::uint64_t bits = row->bits;
    Index place = 0;
    for (Index i = 0; i < row->count; ++i) {
      step(bits, place);
      f(row->row, tile * kPrunedKeys + place, s.scores[row->place + i]);
    }
  }
}

inline void score_tile(const AttentionPart& x, const PrunedScratch& s, const HeadRows& keys, PrunedRows& rows,
                       Index tile) {
  fetch_tile(keys, tile, rows.sees[rows.count - 1].end);
  s.counts[tile] = sort_rows(s, rows, tile);
  const TileRow* const kept = s.kept + tile * kPrunedRows;
  const float* const of_tile = keys.data + tile * kPrunedKeys * keys.stride;
  if (keys.stride > kMostInRow * kLanes)
    score_rows<0>(s, kept, s.counts[tile], of_tile, keys.stride);
  else
    with_vectors(keys.stride / kLanes, [&]<int V>() { score_rows<V>(s, kept, s.counts[tile], of_tile, keys.stride); });
  if (x.bias == nullptr) return;
  const float* const bias = x.bias + x.batch * x.bias_batch + x.head * x.bias_head + rows.first * x.bias_query;
  each_of_tile(s, tile, [&](Index row, Index key, float& score) { score += bias[row * x.bias_query + key]; });
}

// Dropout of a tile's probabilities; `anew`: its group of keys has no random bits yet.
inline void drop_tile(const AttentionPart& x, const PrunedScratch& s, const PrunedRows& rows, Index tile, bool anew) {
  constexpr Index kTilesOfGroup = kDropGroup / kPrunedKeys, kWords = kDropGroup / 16;
  if (anew || tile % kTilesOfGroup == 0)
    for (Index r = 0; r < rows.count; ++r)
      kept_groups(x.drop, static_cast<std::uint64_t>((x.batch * x.heads + x.head) * x.queries + rows.first + r),
                  tile / kTilesOfGroup, tile / kTilesOfGroup + 1, s.dropped + r * kWords);
  each_of_tile(s, tile, [&](Index row, Index key, float& p) {
    const Index bit = key % kDropGroup;
    p *= (s.dropped[row * kWords + bit / 16] >> bit % 16 & 1) != 0 ? x.drop.scale : 0.0F;
  });
}

inline void pruned_block(const AttentionPart& x, const PrunedScratch& s, const HeadRows& keys, const HeadRows& values,
                         PrunedRows& rows) {
  take_rows(x, s, rows);
  const Index end_key = rows.sees[rows.count - 1].end;
  const Index first = rows.sees[0].begin / kPrunedKeys, end = (end_key + kPrunedKeys - 1) / kPrunedKeys;
  for (Index tile = first; tile < end; ++tile) score_tile(x, s, keys, rows, tile);
  for (Index r = 0; r < rows.count; ++r)
    soften(s.scores + r * score_pitch(s), rows.scores[r], s.totals[2 * r], s.totals[2 * r + 1]);
  clear(s.sums, rows.count * values.stride);
  for (Index tile = first; tile < end; ++tile) {
    fetch_tile(values, tile, end_key);
    if (x.drop.threshold != 0) drop_tile(x, s, rows, tile, tile == first);
    const TileRow* const kept = s.kept + tile * kPrunedRows;
    const float* const of_tile = values.data + tile * kPrunedKeys * values.stride;
    for (Index c = 0; c < values.stride; c += kMostInRow * kLanes)
      with_vectors(least(values.stride - c, kMostInRow * kLanes) / kLanes,
                   [&]<int V>() { weigh_rows<V>(s, kept, s.counts[tile], of_tile + c, values.stride, s.sums + c); });
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
