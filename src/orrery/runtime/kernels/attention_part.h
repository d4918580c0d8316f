// The arguments of the attention kernels; attention.h has the public form.
#pragma once

#include "orrery/runtime/kernels/function_table.h"

namespace orrery::kernels {

struct KeptPairs;  // kept_pairs.h

// A tensor of vectors: those of batch b, head h and position p begin at data[b * batch + h * head + p * position]; the
// elements of one lie behind one another.
struct Vectors {
  void* data = nullptr;
  Index batch = 0, head = 0, position = 0;
};

struct AttentionPart {
  Type type = Type::kF32;
  Arithmetic arithmetic = Arithmetic::kF32;
  const ProductKernels* products = nullptr;  // of the arithmetic
  Index heads = 1, key_heads = 1;            // heads / key_heads heads of queries share one of keys and values
  Index queries = 0, keys = 0, size = 0, value_size = 0;
  Index query_offset = 0;                   // query j stands at position j + offset among the keys
  Index reach_back = -1, reach_ahead = -1;  // sees keys at most so far behind and ahead of it; -1: all
  float scale = 1;
  Vectors query, key, value, out;
  float* log_sum = nullptr;     // [batch][head][query]; -inf where no key is visible
  const float* bias = nullptr;  // added to scores, -inf hides
  Index bias_batch = 0, bias_head = 0, bias_query = 0;
  const KeptPairs* kept = nullptr;  // null: all
  DropPattern drop;
  // Backwards.
  Vectors out_gradient, query_gradient, key_gradient, value_gradient;
  // The part.
  Index batch = 0, head = 0;                // backwards: the first of its heads
  Index end_head = 0;                       // backwards; all share one head of keys
  Index valid_queries = 0, valid_keys = 0;  // of this batch; beyond is padding
  Index first_query = 0, end_query = 0;
  Index end_key = 0;         // backwards: gradients of keys up to here are written
  float* partial = nullptr;  // backwards: takes the part's sums for each key, size + value_size, in place of gradients
  std::uint32_t* scratch = nullptr;  // attention_scratch() units
};

}  // namespace orrery::kernels
