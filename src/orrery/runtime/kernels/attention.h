// Attention of many heads, softmax(scale Q K^T + bias) V, and its gradients, without a matrix of scores in memory.
#pragma once

#include "orrery/runtime/kernels/attention_part.h"
#include "orrery/runtime/kernels/context.h"
#include "orrery/runtime/kernels/kept_pairs.h"

namespace orrery::kernels {

// Which keys query j sees: with its position j + query_offset among the keys, those from reach_back before to
// reach_ahead behind it (-1: without bound), so that causal attention is reach_ahead = 0 and a sliding window of w keys
// reach_back = w - 1, reach_ahead = 0; no key at or beyond key_lengths[batch]; none whose bias is -inf. A query that
// sees no key, and one at or beyond query_lengths[batch], has output 0, log_sum -inf and no gradient. Hidden keys and
// values must be finite: a NaN there reaches the result, as 0 times NaN does, unless the key lies beyond key_lengths.
struct Attention {
  Type type = Type::kF32;  // of all tensors: kF32, or kBf16 (products of bf16, sums and softmax in fp32)
  Index batch = 1;
  Index heads = 1, key_heads = 1;  // heads / key_heads heads of queries share one of keys and values (grouped queries)
  Index queries = 0, keys = 0;
  Index size = 0, value_size = 0;  // of a head, at most 512
  double scale = 1;                // of scores                // of scores
  Index query_offset = 0, reach_back = -1, reach_ahead = -1;
  const Index* key_lengths = nullptr;    // null: all
  const Index* query_lengths = nullptr;  // null: all
  // Sequences of different lengths behind one another, without padding: the position at which each begins, in place of
  // the tensors' batch strides. There must be lengths, and nothing is written beyond them.
  const Index* query_starts = nullptr;
  const Index* key_starts = nullptr;
  const float* bias = nullptr;  // added to scaled scores; a stride of 0 repeats it
  Index bias_batch = 0, bias_head = 0, bias_query = 0;
  const KeptPairs* kept = nullptr;  // null: every pair that is visible; keys that no query keeps may be anything
  DropPattern drop;                 // of probabilities; row (batch * heads + head) * queries + query, column key
  Vectors query, key, value, out;
  float* log_sum = nullptr;  // [batch][head][query], written forwards (null: not), read backwards
  // Backwards: given and wanted.
  Vectors out_gradient, query_gradient, key_gradient, value_gradient;
};

// Computes `out` and `log_sum`. The result is the same for any number of threads.
void attend(Context& context, const Attention& attention);

// Computes the three gradients from query, key, value, out, log_sum and out_gradient; asks dropout for the same
// pattern.
void attend_back(Context& context, const Attention& attention);

}  // namespace orrery::kernels
