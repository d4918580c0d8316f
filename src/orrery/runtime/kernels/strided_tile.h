// The arguments of the strided kernels (kernel_strided.h): one tile of an operator whose operands each have a layout of
// their own. strided.h has the public form.
#pragma once

#include "orrery/runtime/kernels/function_table.h"

namespace orrery::kernels {

// What is computed, element by element, and the tensors that it takes in this order. `sums` are over the reduced
// dimensions. m is dropout's factor of an element, 0 or 1 / (1 - p), and is written to the mask.
enum class StridedKernel : std::uint8_t {
  kAddBias,       // in, bias, out = in + bias
  kAdd,           // a, b, out = a + b
  kBiasReluDrop,  // in, bias, out = m relu(linear), mask, linear = in + bias
  kSoftmax,       // in, out = e^in / sum e^in, mask, dropped = m out
  kSoftmaxBack,   // y, mask, gradient, out = y (g - sum y g) with g = mask gradient
  kNorm,          // in, residual, scale, shift, bias, out, standard, linear, off, inverse, mask:
                  //   linear = in + bias, r = m linear + residual, off = r - mean, standard = off inverse,
                  //   inverse = 1 / sqrt(variance + epsilon), out = standard scale + shift
  kNormBack,      // d, inverse, off, mask, out, dropped:
                  //   out = s d - s/N sum d - off s^3/N sum(d off) with s = inverse, dropped = mask out
  kScaleSums,     // standard, scale, d, out = d scale; sums of d standard and of d
  kReluSums,      // d, mask, linear, out = (linear > 0) mask d; sums of out
  kJoinSums,      // standard, scale, a, b, other, out = (a + b) scale; sums of (a + b) standard, of a + b, of other
  kSums,          // in; sums of in
};
inline constexpr int kStridedTensors = 11, kStridedSums = 3;

// Element (row, column) lies at data[row * row_stride + column * column_stride]; a stride of 0 repeats one.
struct TileTensor {
  void* data = nullptr;
  Type type = Type::kF32;  // or kBf16
  Index row_stride = 0, column_stride = 0;
};

// Vectors run along columns. Sums run along the columns of each row (`along`) or down the rows of each column.
struct StridedTile {
  StridedKernel kernel = StridedKernel::kAdd;
  Index rows = 0, columns = 0;
  bool along = false;
  TileTensor tensors[kStridedTensors];
  float* sums[kStridedSums] = {};  // a number for each row (along) or column, added to
  // Element (row, column) of the mask is number first + row * row_step + column * column_step.
  std::uint64_t first = 0, row_step = 0, column_step = 0;
  std::uint32_t keys[2] = {}, threshold = 0;  // dropped with probability threshold / 2^32
  float keep = 1;                             // the factor of what is not
  float epsilon = 1e-5F;
  bool streamed = false;  // results past the caches
  float* scratch = nullptr;
};

// Floats of scratch that a tile takes.
inline Index strided_scratch(Index rows, Index columns) {
  return (kStridedTensors + 2) * rows * (columns + 64) + 4 * (columns + 64) + 4 * rows;
}

}  // namespace orrery::kernels
