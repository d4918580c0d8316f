#include "orrery/describe/machine/operator.h"

namespace orrery::machine {

std::string_view name(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::kProduct:
      return "product";
    case OperatorKind::kAttention:
      return "attention";
    case OperatorKind::kSparseAttention:
      return "sparse attention";
    case OperatorKind::kNormalisation:
      return "normalisation";
    case OperatorKind::kElementwise:
      return "element-wise";
    case OperatorKind::kScan:
      break;
  }
  return "scan";
}

std::string_view name(Basis basis) {
  switch (basis) {
    case Basis::kModelled:
      return "modelled";
    case Basis::kMeasured:
      return "measured";
    case Basis::kPublished:
      break;
  }
  return "published";
}

Operator Operator::of(const MatrixProduct& product, bool gradient) {
  Operator out;
  out.product = product;
  out.gradient = gradient;
  return out;
}

Operator Operator::moving(OperatorKind kind, double bytes) {
  Operator out;
  out.kind = kind;
  out.bytes = bytes;
  return out;
}

}  // namespace orrery::machine
