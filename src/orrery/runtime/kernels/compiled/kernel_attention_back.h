// Attention backwards: one head of keys and values with all heads of queries that share it, so that no other part adds
// to its gradients and their order is fixed; or with some of these heads or some of the queries, where the part's sums
// for keys and values are handed to the caller, who adds those of all parts in their order.
//
// With P = e^(S - log_sum) computed again, M the dropout's factors, dP = dO V^T and D_j = sum_d dO_jd O_jd (which
// equals sum_k M P dP of row j):
//   dS = P (M dP - D),  dV = (M P)^T dO,  dK = scale dS^T Q,  dQ = scale dS K.
// Scores are computed turned, keys as rows: then (M P)^T and dS^T are left operands as they are, and only dS is turned
// for dQ. A row that sees no key has log_sum = -inf and no gradient. (T. Dao et al. 2022.) Cost: 10 J K d operations, J
// K exponentials.
//
// Over kept blocks of pairs the tiles are these blocks, and those that are not kept are left out.
#pragma once

#include "orrery/runtime/kernels/compiled/kernel_attention.h"
#include "orrery/runtime/kernels/kept_pairs.h"

namespace orrery::kernels {
namespace {

constexpr Index kBackKeys = 128, kBackQueries = 256;
static_assert(kBackKeys == kDropGroup, "a tile of keys is one group of dropout's columns");

// Where the parts of the scratch lie.
struct BackScratch {
  Index tile;                                                      // of queries
  Index size_width, value_width, queries;                          // whole panels; queries in whole tiles
  Index turned_query, turned_gradient, flat_query, flat_gradient;  // units of a tile of queries
  std::uint32_t *turned_queries, *turned_gradients, *flat_queries, *flat_gradients;
  std::uint32_t *key_rows, *value_rows, *flat_keys, *left;
  float *scores, *slopes, *query_sums, *key_sums, *value_sums, *products, *log_sums;
  std::uint16_t* kept;
  Index total;
};

inline BackScratch back_scratch(const AttentionPart& x) {
  BackScratch s = {};
  s.size_width = whole_panels(x.size);
  s.value_width = whole_panels(x.value_size);
  s.tile = x.kept == nullptr ? kBackQueries : x.kept->block;
  s.queries = (x.end_query - x.first_query + s.tile - 1) / s.tile * s.tile;
  const Index tiles = s.queries / s.tile;
  const Index columns = whole_panels(s.tile);
  s.turned_query = columns * x.size;
  s.turned_gradient = columns * x.value_size;
  s.flat_query = s.tile * s.size_width;
  s.flat_gradient = s.tile * s.value_width;
  std::uint32_t* at = x.scratch;
  const auto take_units = [&](Index units) {
    std::uint32_t* begin = at;
    units = (units + 15) / 16 * 16;
    if (at != nullptr) at += units;
    s.total += units;
    return begin;
  };
  const auto take_floats = [&](Index count) { return reinterpret_cast<float*>(take_units(count)); };
  s.turned_queries = take_units(tiles * s.turned_query);
  s.turned_gradients = take_units(tiles * s.turned_gradient);
  s.flat_queries = take_units(tiles * s.flat_query);
  s.flat_gradients = take_units(tiles * s.flat_gradient);
  s.key_rows = take_units(kBackKeys * kRowUnits);
  s.value_rows = take_units(kBackKeys * kRowUnits);
  s.flat_keys = take_units(kBackKeys * s.size_width);
  s.left = take_units(most(s.tile, kBackKeys) * kNarrowUnits);
  s.scores = take_floats(kBackKeys * kNarrowUnits);
  s.slopes = take_floats(kBackKeys * kNarrowUnits);
  s.query_sums = take_floats(s.queries * s.size_width);
  s.key_sums = take_floats(x.keys * s.size_width);
  s.value_sums = take_floats(x.keys * s.value_width);
  s.products = take_floats(s.queries);
  s.log_sums = take_floats(s.queries);
  s.kept = reinterpret_cast<std::uint16_t*>(take_units(4 * kBackQueries));
  return s;
}

// D of every query of the part, and log_sum with +inf where no key is seen: e^(S - inf) is 0 then.
inline void row_products(const AttentionPart& x, Index head, Index end_query, const BackScratch& s) {
  for (Index j = x.first_query; j < end_query; ++j) {
    const void* out = element_of(x, x.out, head, j);
    const void* gradient = element_of(x, x.out_gradient, head, j);
    F sum = {};
    each_vector(x.value_size, [&](Index i, int n) {
      sum = fma(load_typed(out, x.type, i, n), load_typed(gradient, x.type, i, n), sum);
    });
    s.products[j - x.first_query] = sum_of(sum);
    const float log_sum = x.log_sum[(x.batch * x.heads + head) * x.queries + j];
    s.log_sums[j - x.first_query] = log_sum == -kInfinity ? kInfinity : log_sum;
  }
  for (Index j = end_query - x.first_query; j < s.queries; ++j) s.products[j] = s.log_sums[j] = 0;
}

// Scores of one key with queries [query, query + count) to M P (in place) and dP to dS (in place).
inline void turn_row(const AttentionPart& x, const BackScratch& s, Index head, Index key, Index query, Index count,
                     float* scores, float* slopes) {
  const Range seeing = queries_seeing(x, key);
  const Index begin = least(most(seeing.begin - query, 0), count), end = most(begin, least(seeing.end - query, count));
  const float* bias =
      x.bias == nullptr ? nullptr : x.bias + x.batch * x.bias_batch + head * x.bias_head + query * x.bias_query + key;
  const std::uint16_t* kept = s.kept + key % kDropGroup / 16 * kBackQueries;
  const int bit = static_cast<int>(key % 16);
  const U kept_scale = as_bits(all(x.drop.scale));
  const float* log_sums = s.log_sums + query - x.first_query;
  const float* products = s.products + query - x.first_query;
  each_vector(count, [&](Index i, int n) {
    if (i + n <= begin || i >= end) {
      put(scores + i, F{}, n);
      put(slopes + i, F{}, n);
      return;
    }
    F shifted = take(scores + i, n) * x.scale;
    if (bias != nullptr) {
      float column[kLanes] = {};
      for (int lane = 0; lane < n; ++lane) column[lane] = bias[(i + lane) * x.bias_query];
      shifted += load(column);
    }
    std::uint32_t bits = 0xffffffffU;
    if (i < begin) bits &= ~0U << (begin - i);
    if (i + n > end) bits &= (1U << (end - i)) - 1U;
    const F p = where_bits(bits, exponential(shifted - load(log_sums + i)), F{});
    F slope = take(slopes + i, n);
    F dropped = p;
    if (x.drop.threshold != 0) {
      const U one = load_low(kept + i) >> bit & 1U;
      const F factor = as_float((U{} - one) & kept_scale);
      slope *= factor;
      dropped *= factor;
    }
    put(scores + i, dropped, n);
    const F change = p * (slope - load(products + i)) * x.scale;
    put(slopes + i, where_bits(bits, change, F{}), n);
  });
}

// One tile of keys against one of queries.
inline void back_tile(const AttentionPart& x, const ProductKernels& kernels, const BackScratch& s, Index head,
                      Index key, Index keys, Index query, Index queries) {
  const Index tile = (query - x.first_query) / s.tile;
  kernels.block({s.key_rows, s.turned_queries + tile * s.turned_query, keys, queries, units_of(kernels, x.size),
                 s.scores, kNarrowUnits, false});
  kernels.block({s.value_rows, s.turned_gradients + tile * s.turned_gradient, keys, queries,
                 units_of(kernels, x.value_size), s.slopes, kNarrowUnits, false});
  if (x.drop.threshold != 0) {
    for (Index j = 0; j < queries; ++j) {
      std::uint16_t bits[kDropGroup / 16];
      const Index line = (x.batch * x.heads + head) * x.queries + query + j;
      kept_groups(x.drop, static_cast<std::uint64_t>(line), key / kDropGroup, key / kDropGroup + 1, bits);
      for (Index w = 0; w < kDropGroup / 16; ++w) s.kept[w * kBackQueries + j] = bits[w];
    }
  }
  for (Index i = 0; i < keys; ++i) {
    turn_row(x, s, head, key + i, query, queries, s.scores + i * kNarrowUnits, s.slopes + i * kNarrowUnits);
  }
  const bool as_is = x.arithmetic == Arithmetic::kF32;
  const auto left_of = [&](float* rows) {
    if (as_is) return reinterpret_cast<const std::uint32_t*>(rows);
    kernels.pack_a({rows, Type::kF32, kNarrowUnits, 1, keys, queries}, s.left, kNarrowUnits);
    return static_cast<const std::uint32_t*>(s.left);
  };
  const Index units = units_of(kernels, queries);
  kernels.block_narrow({left_of(s.scores), s.flat_gradients + tile * s.flat_gradient, keys, x.value_size, units,
                        s.value_sums + key * s.value_width, s.value_width, true});
  kernels.block_narrow({left_of(s.slopes), s.flat_queries + tile * s.flat_query, keys, x.size, units,
                        s.key_sums + key * s.size_width, s.size_width, true});
  kernels.pack_a({s.slopes, Type::kF32, 1, kNarrowUnits, queries, keys}, s.left, kNarrowUnits);
  kernels.block_narrow({s.left, s.flat_keys, queries, x.size, units_of(kernels, keys),
                        s.query_sums + (query - x.first_query) * s.size_width, s.size_width, true});
}

// The part's sums for its head of keys, to where they are wanted.
inline void hand_over_keys(const AttentionPart& x, Index key_head, const float* key_sums, Index size_width,
                           const float* value_sums, Index value_width) {
  for (Index k = 0; k < x.end_key; ++k) {
    const float *of_key = key_sums + k * size_width, *of_value = value_sums + k * value_width;
    if (x.partial == nullptr) {
      store_vector(x, x.key_gradient, key_head, k, of_key, 1, x.size);
      store_vector(x, x.value_gradient, key_head, k, of_value, 1, x.value_size);
      continue;
    }
    float* to = x.partial + k * (x.size + x.value_size);
    each_vector(x.size, [&](Index i, int n) { put(to + i, take(of_key + i, n), n); });
    each_vector(x.value_size, [&](Index i, int n) { put(to + x.size + i, take(of_value + i, n), n); });
  }
}

// Whether the tile that begins with this query and this key is computed.
inline bool tile_is_kept(const AttentionPart& x, Index head, Index query, Index key) {
  if (x.kept == nullptr) return true;
  const KeptPairs& kept = *x.kept;
  const Index column = key / kept.block;
  const std::uint64_t* row = kept.bits + x.batch * kept.batch + head * kept.head + query / kept.block * kept.row;
  return (row[column / 64] >> column % 64 & 1) != 0;
}

inline void attention_back(const AttentionPart& x) {
  const ProductKernels& kernels = *x.products;
  const BackScratch s = back_scratch(x);
  const Index key_head = x.head / (x.heads / x.key_heads);
  const Index end_query = most(x.first_query, least(x.end_query, x.valid_queries));
  clear(s.key_sums, x.keys * s.size_width);
  clear(s.value_sums, x.keys * s.value_width);
  for (Index head = x.head; head < x.end_head; ++head) {
    row_products(x, head, end_query, s);
    clear(s.query_sums, s.queries * s.size_width);
    for (Index query = x.first_query; query < end_query; query += s.tile) {
      const Index tile = (query - x.first_query) / s.tile, count = least(s.tile, end_query - query);
      kernels.pack_b(vectors_as_rows(x, x.query, head, query, count, x.size), s.turned_queries + tile * s.turned_query);
      kernels.pack_b(vectors_as_rows(x, x.out_gradient, head, query, count, x.value_size),
                     s.turned_gradients + tile * s.turned_gradient);
      kernels.pack_b(vectors_as_depth(x, x.query, head, query, count, x.size), s.flat_queries + tile * s.flat_query);
      kernels.pack_b(vectors_as_depth(x, x.out_gradient, head, query, count, x.value_size),
                     s.flat_gradients + tile * s.flat_gradient);
    }
    const Index of_keys = x.kept == nullptr ? kBackKeys : x.kept->block;
    for (Index key = 0; key < x.valid_keys; key += of_keys) {
      const Index keys = least(of_keys, x.valid_keys - key);
      const Range seeing = {most(queries_seeing(x, key).begin, x.first_query),
                            least(queries_seeing(x, key + keys - 1).end, end_query)};
      if (seeing.begin >= seeing.end) continue;
      kernels.pack_a(vectors_as_rows(x, x.key, key_head, key, keys, x.size), s.key_rows, kRowUnits);
      kernels.pack_a(vectors_as_rows(x, x.value, key_head, key, keys, x.value_size), s.value_rows, kRowUnits);
      kernels.pack_b(vectors_as_depth(x, x.key, key_head, key, keys, x.size), s.flat_keys);
      const Index skipped = (seeing.begin - x.first_query) / s.tile * s.tile;
      for (Index query = x.first_query + skipped; query < seeing.end; query += s.tile)
        if (tile_is_kept(x, head, query, key))
          back_tile(x, kernels, s, head, key, keys, query, least(s.tile, end_query - query));
    }
    for (Index j = x.first_query; j < x.end_query; ++j) {
      const float* sums = j < end_query ? s.query_sums + (j - x.first_query) * s.size_width : nullptr;
      store_vector(x, x.query_gradient, head, j, sums, 1, x.size);
    }
  }
  hand_over_keys(x, key_head, s.key_sums, s.size_width, s.value_sums, s.value_width);
}

}  // namespace
}  // namespace orrery::kernels
