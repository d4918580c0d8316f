// A softmax that makes do with parts of columns: the core of an attention, tile of keys by tile of keys.
//
// The softmax of a column s of scores over S keys, weighing values v, is sum_i exp(s_i - m) v_i / sum_i exp(s_i - m),
// m = max s. It needs m, so that a plain softmax sees a whole column before it hands on the first weight. Online, a
// turn sees some of the keys: it takes their scores' exponentials against the largest score so far, and rescales what
// it has of both sums by exp(m_before - m). At the end the weighted values are divided, a words a query in place of S.
// Sources: Milakov and Gimelshein, arXiv 1805.02867 (the recurrence); Dao, arXiv 2307.08691 (FlashAttention-2: queries
// outside, keys inside, the division last).
//
// As operators, for L queries, S keys in c turns, heads of width a; a plain softmax is two sweeps over S x L scores:
//
//   scores      a S L products, queries kept over the turns
//   one sweep   S L: exponentials and their sum; scales nothing
//   statistics  2 L c: maximum and sum of each query, in X
//   rescale     a L c: the accumulated values, read from X and written back in each turn, in the last one divided
//   values      S a L products, accumulated in X
//
// Example: a 128, S 8192, L 4096 in turns of 1024 keys: 33.6 M + 65.5 k + 4.2 M of normalisation in place of 67.1 M.
// X is the storage in which the core hands everything on. The rescaling is counted there even where the values stay
// further in: no less than a chip needs.
#pragma once

#include <vector>

#include "orrery/inputs/blocks/block_cost.h"

namespace orrery::verbs {

// kElementwise is no softmax: one sweep that needs no whole columns, as AccelForge counts it.
enum class Softmax { kAuto, kMultipass, kOnline, kElementwise };

// Whether links place - 1, place and place + 1 are scores, their softmax and the weighted values.
bool is_attention(const Chain& chain, std::size_t place);

// The chain whose softmaxes are one sweep each.
Chain elementwise(Chain chain);

// The core around the softmax at `place` in so many turns, without mappings, which hands everything on in a storage;
// with or without what an online softmax rescales. Adds the links it needs behind the chain.
Group online_core(Chain& chain, std::size_t place, const Turns& turns, bool rescales, const std::string& storage);

// Groups of the core around the softmax at `place`, as online_core, whose turns leave the matrices room in a storage,
// for each one in which they may be handed on.
std::vector<Group> online_groups(Chain& chain, std::size_t place, Softmax softmax);

}  // namespace orrery::verbs
