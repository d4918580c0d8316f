// The layer's operators in fp64 and fp16 (IEEE half, sums in fp32), by plain loops: what faster ones are compared with,
// and what finite differences are taken of. They take the same requests as the others, and the same dropout. Numbers
// for each row (`inverse`, `log_sum`) are doubles when the rows are of kF64. Results do not depend on the threads.
// Operands of kF32 beside kF16 ones are rounded to fp16 first.
#pragma once

#include "orrery/runtime/kernels/attention.h"
#include "orrery/runtime/kernels/product.h"

namespace orrery::kernels::plain {

// Whether the type is one of this file.
inline bool takes(Type type) {
  return type == Type::kF64 || type == Type::kF16;
}

void multiply(Context& context, const Product& product);
void finish(Context& context, const Finish& rows);
void normalise(Context& context, const Normalise& rows);
void normalise_back(Context& context, const NormaliseBack& rows);
// With cosines and sines of `base`^(-2 i / turned), i the number of the pair, computed here.
void rotate(Context& context, const Rotate& rows, double base);
void attend(Context& context, const Attention& attention);
void attend_back(Context& context, const Attention& attention);

}  // namespace orrery::kernels::plain
