// A contraction in one of its layouts, as a product that runs here.
#pragma once

#include "orrery/runtime/kernels/product.h"
#include "orrery/runtime/tuning/contractions/contraction_layouts.h"

namespace orrery::tuning {

// alpha first second -> result, all of one type (fp32 or bf16; sums are fp32). `swapped` as the layout has it.
//
// BLAS counts columns first: its C is M x N with M behind one another, which is a row-major N x M. So what is computed
// is C' = B' A' with rows N, columns M and unit stride along the columns, as the kernel wants its result; a transposed
// operand is one with the strides exchanged, and all letters of a batch are one stride.
kernels::Product product_of(const BlasCall& call, bool swapped, const void* first, const void* second, void* result,
                            kernels::Type type, double alpha = 1);

}  // namespace orrery::tuning
