#include "orrery/verbs/serve/chip_products.h"

#include "orrery/verbs/serve/between_powers.h"

namespace orrery::verbs {

using base::Count;

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
