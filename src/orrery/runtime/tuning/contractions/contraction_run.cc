#include "orrery/runtime/tuning/contractions/contraction_run.h"

#include <utility>

namespace orrery::tuning {

kernels::Product product_of(const BlasCall& call, bool swapped, const void* first, const void* second, void* result,
                            kernels::Type type, double alpha) {
  if (swapped) std::swap(first, second);
  kernels::Product out;
  out.rows = call.n, out.columns = call.m, out.depth = call.k, out.batch = call.batch;
  out.precision = type == kernels::Type::kBf16 ? kernels::Precision::kBf16 : kernels::Precision::kF32;
  out.a = {second, type, call.ldb, 1, call.stride_b};
  if (call.transposed_b) std::swap(out.a.row_stride, out.a.column_stride);
  out.b = {first, type, call.lda, 1, call.stride_a};
  if (call.transposed_a) std::swap(out.b.row_stride, out.b.column_stride);
  out.c = {result, type, call.ldc, call.stride_c};
  out.alpha = static_cast<float>(alpha);
  return out;
}

}  // namespace orrery::tuning
