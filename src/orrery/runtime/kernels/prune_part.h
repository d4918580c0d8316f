// The arguments of the kernels that predict which scores of attention matter (kernel_prune.h); sparse/ has the public
// form.
#pragma once

#include <cstdint>

#include "orrery/runtime/kernels/function_table.h"

namespace orrery::kernels {

// Of each row of a matrix: its Euclidean norm and its largest magnitude.
struct RowSizes {
  const float* in = nullptr;
  Index stride = 0, rows = 0, columns = 0;
  float* norms = nullptr;
  float* peaks = nullptr;
};

// out = in / divisor of the row * scale, rounded half to even and clamped to [-most, most].
struct RowCodes {
  const float* in = nullptr;
  Index in_stride = 0, rows = 0, columns = 0;
  const float* divisors = nullptr;  // not 0; null: 1
  float scale = 1, most = 0;
  std::int8_t* out = nullptr;
  Index out_stride = 0;
};

// One row of scores, made of integer products in place.
struct ScoreRow {
  void* row = nullptr;  // int32, then floats; room for a multiple of 64
  Index columns = 0;    // that the row has: at least one
  float factor = 1;
  const float* column_factors = nullptr;  // null: 1; room for a whole vector at the end
  const float* hidden = nullptr;          // 0 or -inf for each column, added; null: none is
};

// The same row to probabilities, and those above the threshold to bits.
struct KeepRow {
  float* row = nullptr;  // scores, then e^(score - most) and zeros up to a multiple of 64
  Index columns = 0;
  float most = 0;  // the largest score, finite
  float threshold = 0;
  std::uint64_t* bits = nullptr;  // ceil(columns / 64) words
  float sum = 0;                  // out: of the exponentials
};

// The same decisions from integer products at once, by an exponential of 18 bits, where they are certain.
struct QuickKeep {
  const std::uint32_t* sums = nullptr;  // int32; room up to a multiple of 64
  Index columns = 0;                    // at least one
  float factor = 1;
  const float* column_factors = nullptr;  // room for a whole vector at the end
  const float* hidden = nullptr;          // as ScoreRow has it
  float bound = 0;                        // no score's magnitude exceeds it
  float threshold = 0;                    // at least 1e-12
  float* room = nullptr;                  // for as many floats
  std::uint64_t* bits = nullptr;          // ceil(columns / 64) words
};

}  // namespace orrery::kernels
