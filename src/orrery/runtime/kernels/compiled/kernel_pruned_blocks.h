// Attention of one head over the blocks of pairs that a mask keeps: dense arithmetic on what is there.
//
// A block of queries meets its kept blocks of keys, up to 256 keys of them at a time, gathered side by side: from there
// on all is as in dense attention (kernel_attention.h), with its online softmax. Keys and values are packed block by
// block, so that gathering them costs nothing. What the window hides of a gathered row lies at its ends, as in a row
// that is whole, since blocks come in the order of their keys.
//
// (S. Gray et al. 2017.) Cost: 4 d operations for each pair of a kept block; blocks of 16 load and store the sums of
// values for every 16 multiply-adds, larger ones less often.
#pragma once

#include "orrery/runtime/kernels/compiled/kernel_pruned.h"

namespace orrery::kernels {
namespace {

struct BlockScratch {
  std::uint32_t *keys, *values, *query_rows, *weights;
  float *scores, *sums, *bias;
  std::uint16_t* dropped;
};

inline Index packed_key_units(const AttentionPart& x) {
  return whole_panels(x.kept->block) * x.size;
}
inline Index packed_value_units(const AttentionPart& x) {
  return x.kept->block * whole_panels(x.value_size);
}

inline Index cut_blocks(const AttentionPart& x, std::uint32_t* at, BlockScratch& s) {
  const Index blocks = (x.keys + x.kept->block - 1) / x.kept->block;
  ScratchCut cut{at};
  s.keys = cut.units(blocks * packed_key_units(x));
  s.values = cut.units(blocks * packed_value_units(x));
  s.query_rows = cut.units(x.kept->block * kRowUnits);
  s.weights = cut.units(x.kept->block * kNarrowUnits);
  s.scores = cut.floats(x.kept->block * kNarrowUnits);
  s.sums = cut.floats(x.kept->block * whole_panels(x.value_size));
  s.bias = cut.floats(kKeyTile);
  s.dropped = reinterpret_cast<std::uint16_t*>(cut.units((x.keys / kDropGroup + 1) * (kDropGroup / 32)));
  return cut.total;
}

// Blocks of keys side by side.
struct Gathered {
  Index first[kKeyTile / 16];  // keys
  int count = 0;
  Index width = 0;  // keys in all
};

struct BlockRows {
  Index first, count;
  float m[64], l[64];
};

// How many gathered keys stand before a key.
inline Index gathered_before(const Gathered& of, Index block, Index key) {
  Index sum = 0;
  for (int i = 0; i < of.count; ++i) sum += most(0, least(key - of.first[i], block));
  return least(sum, of.width);
}

inline void drop_gathered(const AttentionPart& x, const BlockScratch& s, const Gathered& keys, Index j, float* row) {
  const Index group = keys.first[0] / kDropGroup, end = keys.first[keys.count - 1] / kDropGroup + 1;
  kept_groups(x.drop, static_cast<std::uint64_t>((x.batch * x.heads + x.head) * x.queries + j), group, end, s.dropped);
  const Index block = x.kept->block;
  each_vector(keys.width, [&](Index c, int n) {
    const Index key = keys.first[c / block] + c % block - group * kDropGroup;
    put(row + c, take(row + c, n) * drop_factors(s.dropped, key, x.drop.scale), n);
  });
}

// The rows' queries against what was gathered.
inline void gathered_tile(const AttentionPart& x, const ProductKernels& kernels, const BlockScratch& s,
                          const Gathered& keys, BlockRows& rows) {
  const Index block = x.kept->block, width = whole_panels(x.value_size);
  const Index depth = units_of(kernels, x.size), of_block = units_of(kernels, block);
  const auto count_of = [&](int i) { return least(block, keys.width - i * block); };
  for (int i = 0; i < keys.count; ++i)
    kernels.block({s.query_rows, s.keys + keys.first[i] / block * packed_key_units(x), rows.count, count_of(i), depth,
                   s.scores + i * block, kNarrowUnits, false});
  for (Index r = 0; r < rows.count; ++r) {
    const Index j = rows.first + r;
    const Range sees = keys_seen(x, j);
    const Index begin = gathered_before(keys, block, sees.begin), end = gathered_before(keys, block, sees.end);
    float* row = s.scores + r * kNarrowUnits;
    if (x.bias != nullptr) {
      const float* bias = x.bias + x.batch * x.bias_batch + x.head * x.bias_head + j * x.bias_query;
      for (int i = 0; i < keys.count; ++i)
        for (Index c = 0; c < count_of(i); ++c) s.bias[i * block + c] = bias[keys.first[i] + c];
    }
    const float factor = probabilities(row, begin, most(begin, end), keys.width, x.scale,
                                       x.bias == nullptr ? nullptr : s.bias, rows.m[r], rows.l[r]);
    if (factor != 1)
      each_vector(width, [&](Index c, int) { store(s.sums + r * width + c, load(s.sums + r * width + c) * factor); });
    if (x.drop.threshold != 0) drop_gathered(x, s, keys, j, row);
  }
  const std::uint32_t* a = reinterpret_cast<const std::uint32_t*>(s.scores);
  if (x.arithmetic != Arithmetic::kF32) {
    kernels.pack_a({s.scores, Type::kF32, kNarrowUnits, 1, rows.count, keys.width}, s.weights, kNarrowUnits);
    a = s.weights;
  }
  for (int i = 0; i < keys.count; ++i)
    kernels.block_narrow({a + i * of_block, s.values + keys.first[i] / block * packed_value_units(x), rows.count,
                          x.value_size, units_of(kernels, count_of(i)), s.sums, width, true});
}

// f(first key) for each kept block of the queries' row of blocks that is at least partly among keys [begin, end).
template <class Visit>
void each_kept_block(const AttentionPart& x, Index j, Range keys, const Visit& f) {
  const KeptPairs& kept = *x.kept;
  const std::uint64_t* words = kept.bits + x.batch * kept.batch + x.head * kept.head + j / kept.block * kept.row;
  const Index begin = keys.begin / kept.block, end = (keys.end + kept.block - 1) / kept.block;
  for (Index w = begin / 64; w * 64 < end; ++w) {
    std::uint64_t bits = words[w];
    if (w * 64 < begin) bits &= ~std::uint64_t{0} << (begin - w * 64);
    if (end - w * 64 < 64) bits &= ~(~std::uint64_t{0} << (end - w * 64));
    for (; bits != 0; bits &= bits - 1) f((w * 64 + __builtin_ctzll(bits)) * kept.block);
  }
}

inline void pruned_blocks(const AttentionPart& x) {
  const ProductKernels& kernels = *x.products;
  BlockScratch s;
  cut_blocks(x, x.scratch, s);
  const Index key_head = x.head / (x.heads / x.key_heads), block = x.kept->block;
  const Index end_query = least(x.end_query, x.valid_queries), width = whole_panels(x.value_size);
  clear_padding(x, end_query);
  if (x.first_query >= end_query) return;
  const Index end_key = keys_seen(x, end_query - 1).end;
  for (Index key = keys_seen(x, x.first_query).begin / block * block; key < end_key; key += block) {
    const Index count = least(block, end_key - key);
    kernels.pack_b(vectors_as_rows(x, x.key, key_head, key, count, x.size), s.keys + key / block * packed_key_units(x));
    kernels.pack_b(vectors_as_depth(x, x.value, key_head, key, count, x.value_size),
                   s.values + key / block * packed_value_units(x));
  }
  BlockRows rows;
  for (rows.first = x.first_query; rows.first < end_query; rows.first += rows.count) {
    rows.count = least(block - rows.first % block, end_query - rows.first);
    kernels.pack_a(vectors_as_rows(x, x.query, x.head, rows.first, rows.count, x.size), s.query_rows, kRowUnits);
    for (Index r = 0; r < rows.count; ++r) rows.m[r] = -kInfinity, rows.l[r] = 0;
    clear(s.sums, rows.count * width);
    const Range seen = {keys_seen(x, rows.first).begin, keys_seen(x, rows.first + rows.count - 1).end};
    Gathered keys;
    each_kept_block(x, rows.first, seen, [&](Index key) {
      keys.first[keys.count++] = key;
      keys.width += least(block, end_key - key);
      if (keys.count * block < kKeyTile) return;
      gathered_tile(x, kernels, s, keys, rows);
      keys = {};
    });
    if (keys.count > 0) gathered_tile(x, kernels, s, keys, rows);
    for (Index r = 0; r < rows.count; ++r) {
      const float l = rows.l[r];
      store_vector(x, x.out, x.head, rows.first + r, s.sums + r * width, l == 0 ? 0 : 1 / l, x.value_size);
      if (x.log_sum != nullptr)
        x.log_sum[(x.batch * x.heads + x.head) * x.queries + rows.first + r] =
            l == 0 ? -kInfinity : rows.m[r] + __builtin_logf(l);
    }
  }
}

}  // namespace
}  // namespace orrery::kernels
