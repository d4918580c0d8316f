#include "orrery/verbs/train/operators/array_operators.h"

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::verbs {

using machine::MatrixProduct;
using machine::Operator;

double ArrayOperators::scores(const Operator& one) {
  const MatrixProduct& p = one.product;
  return static_cast<double>(p.batch) * static_cast<double>(p.m) * static_cast<double>(p.n);
}

std::optional<double> ArrayOperators::attention_seconds(const Operator& one) const {
  const MatrixProduct& p = one.product;
  if (one.gradient) {
    if (const std::optional<double> whole = rest_->attention_seconds(one)) return whole;
    // Scores again, and the gradients of values, probabilities, queries and keys; scores and the gradients of
    // probabilities are written and read.
    const base::Count kv = one.value_width;
    const double bytes = 4 * one.share * scores(one) * machine::bytes_per_element(p.precision);
    return rest_->memory_bound_seconds(bytes) +
           one.share * (rest_->matrix_product_seconds({p.batch, p.m, p.n, p.k, p.precision}) +
                        rest_->matrix_product_seconds({p.batch, p.n, kv, p.m, p.precision}) +
                        rest_->matrix_product_seconds({p.batch, p.m, p.n, kv, p.precision}) +
                        rest_->matrix_product_seconds({p.batch, p.m, p.k, p.n, p.precision}) +
                        rest_->matrix_product_seconds({p.batch, p.n, p.k, p.m, p.precision}));
  }
  base::Diagnostics found;
  check_heads(array_, "the model's queries", p.k, found);
  check_heads(array_, "the model's values", one.value_width, found);
  found.throw_if_errors();
  return array_.seconds_per_score * scores(one);
}

machine::Cost ArrayOperators::cost(const Operator& one) const {
  const bool attention =
      one.kind == machine::OperatorKind::kAttention || one.kind == machine::OperatorKind::kSparseAttention;
  if (!attention) return rest_->cost(one);
  machine::Cost out = OperatorModel::cost(one);
  if (one.gradient) return out;
  out.joules = array_.joules_per_score * scores(one);
  out.binds = "array";
  return out;
}

}  // namespace orrery::verbs
