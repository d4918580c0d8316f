#include "orrery/verbs/serve/chip_products.h"

#include <algorithm>

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

double products_of_head(const machine::OperatorModel& exact, const machine::Operator& head) {
  machine::MatrixProduct values = head.product;
  values.n = head.value_width;
  values.k = head.product.n;
  return exact.matrix_product_seconds(head.product) + exact.matrix_product_seconds(values);
}

std::optional<double> ChipProducts::attention_seconds(const machine::Operator& attention) const {
  const machine::MatrixProduct& p = attention.product;
  const double each = between_powers(p.m, [&](Count queries) {
    return between_powers(p.n, [&](Count keys) {
      machine::Operator head = attention;
      head.product = {1, queries, keys, p.k, p.precision};
      head.share = 1;
      const double apart = products_of_head(exact_, head);
      return fuse_ ? std::min(apart, exact_.attention_seconds(head).value_or(apart)) : apart;
    });
  });
  return static_cast<double>(p.batch) * attention.share * each;
}

}  // namespace orrery::verbs
