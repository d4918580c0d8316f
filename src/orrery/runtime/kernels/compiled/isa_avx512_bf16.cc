// Products of bf16 by vdpbf16ps of AVX512_BF16, which sums two at once.
#include "orrery/runtime/kernels/compiled/kernel_product.h"

namespace orrery::kernels {
namespace {

struct Bf16Units : LaneUnits {
  using Sum = F;
  static constexpr int kElements = 2;
  static F step(F sum, U a, U b) { return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b); }
};

consteval Products bf16_products() {
  Products products;
  products.of[static_cast<int>(Arithmetic::kBf16Dot)] =
      float_kernels<PairsFromFloat<Bf16Units>, PairsFromBf16<Bf16Units>>();
  return products;
}

}  // namespace

extern const Products kBf16Products;
constinit const Products kBf16Products = bf16_products();

}  // namespace orrery::kernels
