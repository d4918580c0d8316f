// The description of a decoder whose layers are all alike, from a handful of sizes.
#pragma once

#include <string>

#include "orrery/base/count.h"
#include "orrery/base/diagnostic.h"
#include "orrery/workload/transformer.h"

namespace orrery::workload {

// In elements; 0 where a default is stated.
struct PlainSizes {
  std::string name = {};
  base::Count layers = 1;
  base::Count hidden = 0;
  base::Count heads = 0;
  base::Count head_width = 0;  // 0: hidden / heads
  base::Count kv_heads = 0;    // key and value heads; 0: as many as `heads`
  base::Count ffn = 0;         // inner width of the feed-forward network; 0: 4 hidden
  bool gated = false;          // gate and up projections side by side (SwiGLU)
  base::Count vocab = 0;
};

// Causal attention to all tokens and a feed-forward network in every layer. Finds sizes below 1 (O1482), heads that do
// not fit (O1483: the query heads must divide the width, key and value heads the query heads) and a default that 64
// bits do not hold (O1485). If there are errors, the result must not be used.
Transformer plain_transformer(const PlainSizes& sizes, base::Diagnostics& found);

// The same; throws InputError with all that is wrong.
Transformer plain_transformer(const PlainSizes& sizes);

}  // namespace orrery::workload
