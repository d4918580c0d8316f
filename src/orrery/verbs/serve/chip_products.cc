#include "orrery/verbs/serve/chip_products.h"

#include <bit>
#include <cmath>

namespace orrery::verbs {
namespace {

using base::Count;

template <class Seconds>
double between_powers(Count size, const Seconds& seconds) {
  if (size <= 0) return 0;
  const auto low = static_cast<Count>(std::bit_floor(static_cast<std::uint64_t>(size)));
  const double at_low = seconds(low);
  if (low == size) return at_low;
  return std::lerp(at_low, seconds(2 * low), static_cast<double>(size - low) / static_cast<double>(low));
}

}  // namespace

double ChipProducts::matrix_product_seconds(const machine::MatrixProduct& product) const {
  return between_powers(product.m, [&](Count m) {
    machine::MatrixProduct asked = product;
    asked.m = m;
    return exact_.matrix_product_seconds(asked);
  });
}

std::optional<double> ChipProducts::attention_seconds(const machine::Operator& attention) const {
  const machine::MatrixProduct& p = attention.product;
  const double each = between_powers(p.m, [&](Count queries) {
    return between_powers(p.n, [&](Count keys) {
      return exact_.matrix_product_seconds({1, queries, keys, p.k, p.precision}) +
             exact_.matrix_product_seconds({1, queries, attention.value_width, keys, p.precision});
    });
  });
  return static_cast<double>(p.batch) * attention.share * each;
}

}  // namespace orrery::verbs
