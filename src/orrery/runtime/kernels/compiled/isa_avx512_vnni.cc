// Products of bytes by AVX512_VNNI, four to a unit. vpdpbusd multiplies unsigned by signed: a signed A is packed as
// a + 128, and each panel of B begins with -128 times the sums of its columns, where the sums of a tile start; an
// unsigned A is packed as it is.
#include "orrery/runtime/kernels/compiled/kernel_product.h"

namespace orrery::kernels {
namespace {

struct Uint8Units : LaneUnits {
  using Sum = I;
  static constexpr int kElements = 4;
  static I step(I sum, U a, U b) { return (I)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)a, (__m512i)b); }
};
struct Int8Units : Uint8Units {
  static constexpr int kHeader = 1;
  static U header(const std::uint32_t* units, Index count, Index stride) {
    __m512i sums = _mm512_setzero_si512();
    for (Index u = 0; u < count; ++u)
      sums = _mm512_dpbusd_epi32(sums, _mm512_set1_epi8(1), (__m512i)load(units + u * stride));
    return (U)_mm512_sub_epi32(_mm512_setzero_si512(), _mm512_slli_epi32(sums, 7));
  }
};

consteval Products byte_products() {
  Products products;
  products.of[static_cast<int>(Arithmetic::kInt8)] = byte_kernels<Quads<Int8Units, 0x80808080U>, Quads<Int8Units>>();
  products.of[static_cast<int>(Arithmetic::kUint8)] = byte_kernels<Quads<Uint8Units>, Quads<Uint8Units>>();
  return products;
}

}  // namespace

extern const Products kVnniProducts;
constinit const Products kVnniProducts = byte_products();

}  // namespace orrery::kernels
