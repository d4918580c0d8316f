// The sizes of a transformer layer that its kernel graphs are made from.
#pragma once

#include "orrery/base/count.h"
#include "orrery/base/diagnostic.h"

namespace orrery::workload {

// In elements; DFModel's generators know the first four and `word_bytes`.
struct TransformerShape {
  base::Count hidden = 0;
  base::Count heads = 0;
  base::Count head_width = 0;    // 0: hidden / heads
  base::Count feed_forward = 0;  // inner width of the feed-forward network; 0: 4 hidden
  base::Count word_bytes = 2;    // of an element
  base::Count kv_heads = 0;      // key and value heads; 0: as many as `heads`
  bool gated = false;            // gate and up projections side by side (SwiGLU)
};

// `shape` with defaults in place of zeros. Finds sizes below 1 (O1482) and heads that do not fit: the query heads must
// divide the model's width, key and value heads the query heads (O1483). If there are errors, the result must not be
// used.
TransformerShape completed(TransformerShape shape, base::Diagnostics& found);

// Widths of a token's vectors, and the bytes of the tensors that several kernels share.
struct TransformerTensors {
  base::Count query = 0;      // all query heads side by side; DFModel: hidden
  base::Count key_value = 0;  // all key (or value) heads side by side; DFModel: hidden
  base::Count up = 0;         // what FFN0 makes: the inner width, of gated models twice
  double token = 0;           // hidden x tokens
  double query_token = 0;
  double key_value_token = 0;
  double up_token = 0;
  double inner_token = 0;  // inner width x tokens
  double query_weight = 0, key_value_weight = 0, output_weight = 0;
  double up_weight = 0, down_weight = 0;
};

// For `tokens` columns. Products beyond 64 bits are found as O1485.
TransformerTensors tensors(const TransformerShape& shape, base::Count tokens, base::Diagnostics& found);

}  // namespace orrery::workload
