// Interfaces: CBLAS (row-major order is 101, no transposition 111, transposition 112) as OpenBLAS has it, and oneDNN's
// dnnl_sgemm, which is row-major. oneDNN's threads are those of OpenMP, whose number each calling thread sets for
// itself.
#include "orrery/runtime/tuning/contractions/blas_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>

#include "orrery/base/diagnostics/check.h"

namespace orrery::tuning {
namespace {

using kernels::Index;
using kernels::Product;
using kernels::Type;

using SetThreads = void (*)(int);
using CblasSgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*,
                            int);
using DnnlSgemm = int (*)(char, char, std::int64_t, std::int64_t, std::int64_t, float, const float*, std::int64_t,
                          const float*, std::int64_t, float, float*, std::int64_t);

constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;

struct Known {
  const char* name;
  const char* file;
  const char* product;
  const char* threads;
};
constexpr Known kKnown[] = {{"openblas", "libopenblas.so.0", "cblas_sgemm", "openblas_set_num_threads"},
                            {"onednn", "libdnnl.so.2", "dnnl_sgemm", "omp_set_num_threads"},
                            {"onednn", "libdnnl.so.3", "dnnl_sgemm", "omp_set_num_threads"}};

// Of an operand with unit stride along one of its dimensions: whether that is its rows, and its other stride.
struct Leading {
  bool transposed;
  Index stride;
};
Leading leading(const kernels::Operand& m, Index columns, Index rows) {
  if (m.column_stride == 1) return {false, std::max({m.row_stride, columns, Index{1}})};
  return {true, std::max({m.column_stride, rows, Index{1}})};
}

}  // namespace

const std::vector<BlasLibrary>& BlasLibrary::installed() {
  static const std::vector<BlasLibrary> all = [] {
    std::vector<BlasLibrary> out;
    for (const Known& known : kKnown) {
      if (std::any_of(out.begin(), out.end(), [&](const BlasLibrary& one) { return one.name_ == known.name; }))
        continue;
      void* const library = dlopen(known.file, RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) continue;
      void* const product = dlsym(library, known.product);
      void* const threads = dlsym(library, known.threads);
      if (product == nullptr || threads == nullptr) continue;
      const Kind kind = known.name == std::string_view("openblas") ? Kind::kOpenBlas : Kind::kOneDnn;
      out.push_back(
          BlasLibrary(known.name, kind, reinterpret_cast<Function>(product), reinterpret_cast<Function>(threads)));
    }
    return out;
  }();
  return all;
}

const BlasLibrary* BlasLibrary::find(std::string_view name) {
  for (const BlasLibrary& one : installed())
    if (one.name_ == name) return &one;
  return nullptr;
}

bool BlasLibrary::takes(const Product& x) {
  constexpr Index kMost = INT32_MAX;
  const bool plain = x.bias == nullptr && x.activation == kernels::Activation::kNone && x.drop.threshold == 0;
  const bool fp32 = x.precision == kernels::Precision::kF32 && x.a.type == Type::kF32 && x.b.type == Type::kF32 &&
                    x.c.type == Type::kF32;
  const auto fits = [](Index a, Index b) { return a >= 0 && b >= 0 && a < kMost && b < kMost; };
  return plain && fp32 && !x.add && x.packed_b == nullptr && x.residual.data == nullptr && x.gate.data == nullptr &&
         x.normalise.out.data == nullptr && x.c.data != nullptr && fits(x.rows, x.columns) &&
         fits(x.depth, x.c.row_stride) && fits(x.a.row_stride, x.a.column_stride) &&
         fits(x.b.row_stride, x.b.column_stride);
}

void BlasLibrary::set_threads(int count) const {
  reinterpret_cast<SetThreads>(threads_)(count);
}

void BlasLibrary::one(const Product& x, Index item) const {
  const auto* a = static_cast<const float*>(x.a.data) + item * x.a.batch_stride;
  const auto* b = static_cast<const float*>(x.b.data) + item * x.b.batch_stride;
  auto* c = static_cast<float*>(x.c.data) + item * x.c.batch_stride;
  const Leading of_a = leading(x.a, x.depth, x.rows), of_b = leading(x.b, x.columns, x.depth);
  const Index to = std::max({x.c.row_stride, x.columns, Index{1}});
  if (kind_ == Kind::kOpenBlas) {
    reinterpret_cast<CblasSgemm>(product_)(
        kRowMajor, of_a.transposed ? kTransposed : kPlain, of_b.transposed ? kTransposed : kPlain,
        static_cast<int>(x.rows), static_cast<int>(x.columns), static_cast<int>(x.depth), x.alpha, a,
        static_cast<int>(of_a.stride), b, static_cast<int>(of_b.stride), 0, c, static_cast<int>(to));
    return;
  }
  const int failed =
      reinterpret_cast<DnnlSgemm>(product_)(of_a.transposed ? 'T' : 'N', of_b.transposed ? 'T' : 'N', x.rows, x.columns,
                                            x.depth, x.alpha, a, of_a.stride, b, of_b.stride, 0, c, to);
  ORRERY_CHECK(failed == 0, "oneDNN computes a product that it was given");
}

void BlasLibrary::multiply(kernels::Context& context, const Product& product) const {
  ORRERY_CHECK(takes(product), "a bare product of fp32 matrices");
  if (product.rows == 0 || product.columns == 0) return;
  if (product.batch == 1) {
    set_threads(context.threads());
    return one(product, 0);
  }
  set_threads(1);
  context.pool().run(product.batch, [&](Index item, int) {
    if (kind_ == Kind::kOneDnn) set_threads(1);
    one(product, item);
  });
}

}  // namespace orrery::tuning
