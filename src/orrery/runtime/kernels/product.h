// Matrix products, alone or in batches, with what is done to the result on its way to memory.
#pragma once

#include <string>

#include "orrery/runtime/kernels/context.h"

namespace orrery::kernels {

// How operands are multiplied. Sums are fp32, or int32 (which wraps round beyond 2^31).
enum class Precision {
  kF32,
  kBf16,
  kInt8,
  kUint8,  // a kUint8 by b kInt8
};

// Element (i, j) of batch n lies at data[n * batch_stride + i * row_stride + j * column_stride], so that a transposed
// matrix is one with the strides exchanged. A batch stride of 0 repeats one matrix. It is fast when one of the strides
// is 1. Types: kF32 or kBf16 for fp32 and bf16 products (fp32 elements are rounded to bf16 for the latter), kInt8 for
// int8, kUint8 for the left operand of kUint8.
struct Operand {
  const void* data = nullptr;
  Type type = Type::kF32;
  Index row_stride = 0, column_stride = 1, batch_stride = 0;
};

// The same with column stride 1, to read or write beside the result.
struct Beside {
  void* data = nullptr;  // null: absent
  Type type = Type::kF32;
  Index row_stride = 0, batch_stride = 0;
};

// out = rows normalised (rows.h); with it, a result is needed only where it is used elsewhere, too.
struct NormaliseRows {
  bool centred = true;  // LayerNorm; else RMSNorm
  float epsilon = 1e-5F;
  const float* scale = nullptr;
  const float* shift = nullptr;
  Beside out;                // null: no normalisation
  void* standard = nullptr;  // rows before scale and shift, for the backward pass: type and strides of out
  float* inverse = nullptr;  // 1 / deviation of each row
};

struct Product;

// A right operand that was packed once and serves many products: weights.
class PackedOperand {
 public:
  PackedOperand() = default;

 private:
  friend PackedOperand pack(Context&, const Operand&, Index depth, Index columns, Precision, PackedOperand);
  friend struct ProductRun;
  friend void multiply(Context&, const Product&);
  Buffer units_;
  const Table* table_ = nullptr;
  Arithmetic arithmetic_ = Arithmetic::kF32;
  Index depth_ = 0, columns_ = 0;
  Magnitudes magnitudes_;  // with kF32Tiles
};

// With v = alpha A B + bias (and what c holds, when added):
//   c = residual + drop(activation(v) * gate), before = v; slopes: c = v activation'(slope_at) and so on.
struct Product {
  Index rows = 0, columns = 0, depth = 0, batch = 1;
  Precision precision = Precision::kF32;
  Operand a, b;
  const PackedOperand* packed_b = nullptr;  // instead of b
  Beside c;                                 // kF32 or kBf16; kInt32 for int8 products without any of what follows
  bool add = false;                         // c += ..., without residual
  float alpha = 1;
  const float* bias = nullptr;  // `columns` numbers
  Beside before;                // must have the type of c
  Activation activation = Activation::kNone;
  Beside slope_at;
  Beside gate;
  DropPattern drop;  // row: batch * rows + row
  Beside residual;
  NormaliseRows normalise;
  float* row_sums =
      nullptr;  // receives the sums of the rows of A (batch 1): the gradient of a bias, when A is a gradient
};

// Why a product cannot be computed, in a sentence, or "": it contradicts itself, or is larger than addresses are. To be
// asked where sizes come from users, with a diagnostic of their own; multiply() throws base::InternalError.
std::string fault_of(const Product& product);

// Bytes of scratch that multiply() takes of its context.
double scratch_bytes(const Context& context, const Product& product);

// Computes the product. The result is the same for any number of threads. Sizes may be zero: an empty sum is 0. c must
// not overlap what is read, except residual, gate and slope_at at the same places. Throws std::bad_alloc without memory
// for packed operands.
//
// fp32 by tiles (Choice::fp32 kF32Tiles) is for products whose operands are 0 or of a magnitude of at least 2^-102,
// whose sums cannot overflow and whose largest terms are at least 2^-80; all others are computed by fused
// multiply-adds. Its error is less than 2^-21 of the sum of the terms' magnitudes, plus 2^-123 times the depth.
void multiply(Context& context, const Product& product);

// With `reused`, in the memory of an earlier one.
PackedOperand pack(Context& context, const Operand& b, Index depth, Index columns, Precision precision,
                   PackedOperand reused = {});

}  // namespace orrery::kernels
