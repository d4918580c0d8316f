#include "orrery/verbs/serve/machine_products.h"

#include <algorithm>

#include "orrery/verbs/serve/between_powers.h"

namespace orrery::verbs {
namespace {

using base::Count;

constexpr Count kLongestPrompt = 4096;  // that is measured: of longer ones a pair takes as long
constexpr double kMostCached = 256e6;   // bytes of keys and values that are measured: no cache keeps so many

// The most heads, a power of two, whose keys and values are that; further ones are read as fast.
Count most_heads(const machine::Operator& one, Count keys) {
  const double each = static_cast<double>(keys) * static_cast<double>(one.product.k + one.value_width) *
                      machine::bytes_per_element(one.product.precision);
  Count heads = 16;
  while (static_cast<double>(2 * heads) * each <= kMostCached) heads *= 2;
  return heads;
}

}  // namespace

double MachineProducts::matrix_product_seconds(const machine::MatrixProduct& product) const {
  return between_powers(product.m, [&](Count m) {
    machine::MatrixProduct asked = product;
    asked.m = m;
    return measured_.matrix_product_seconds(asked);
  });
}

std::optional<double> MachineProducts::attention_seconds(const machine::Operator& attention) const {
  machine::Operator asked = attention;
  const machine::MatrixProduct& p = attention.product;
  bool known = true;
  const auto seconds = [&] {
    const std::optional<double> out = measured_.attention_seconds(asked);
    known = known && out;
    return out.value_or(0);
  };
  double out = 0;
  if (attention.share < 1) {
    asked.share = 0.5;
    const double pair = between_powers(std::min(p.n, kLongestPrompt), [&](Count keys) {
      asked.product.m = asked.product.n = keys;
      return seconds() / (0.5 * static_cast<double>(keys) * static_cast<double>(keys));
    });
    out = pair * static_cast<double>(p.m) * static_cast<double>(p.n) * attention.share;
  } else {
    out = between_powers(p.n, [&](Count keys) {
      const Count heads = std::min(p.batch, most_heads(attention, keys));
      asked.product.n = keys;
      return static_cast<double>(p.batch) / static_cast<double>(heads) * between_powers(heads, [&](Count batch) {
               asked.product.batch = batch;
               return seconds();
             });
    });
  }
  return known ? std::optional(out) : std::nullopt;
}

}  // namespace orrery::verbs
