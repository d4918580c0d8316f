#include "orrery/describe/machine/operator_model.h"

namespace orrery::machine {

Cost OperatorModel::cost(const Operator& one) const {
  Cost out;
  switch (one.kind) {
    case OperatorKind::kProduct:
      out.seconds = one.gradient ? weight_gradient_seconds(one.product) : matrix_product_seconds(one.product);
      break;
    case OperatorKind::kAttention:
    case OperatorKind::kSparseAttention: {
      if (const std::optional<double> whole = attention_seconds(one)) {
        out.seconds = *whole;
        break;
      }
      MatrixProduct values = one.product;  // m x n scores by n x width values
      values.n = one.value_width;
      values.k = one.product.n;
      out.seconds = one.share * (matrix_product_seconds(one.product) + matrix_product_seconds(values));
      break;
    }
    case OperatorKind::kNormalisation:
    case OperatorKind::kElementwise:
    case OperatorKind::kScan:
      out.seconds = memory_bound_seconds(one.bytes);
      out.binds = "memory";
      break;
  }
  return out;
}

}  // namespace orrery::machine
